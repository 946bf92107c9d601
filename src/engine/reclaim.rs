//! The built-in behind role `reclaim`: rescues one tree, or removes several.

use super::ports::git::{Git, RescueRequest};
use crate::domain::event::{Reclaim, Reclaimed};
use crate::domain::ids::Unit;
use crate::domain::time::Timestamp;

/// Rescues one tree, or removes several; what went wrong with one does not keep the others. `root`
/// is the directory under which a tree to be rescued must lie, `time` names rescue refs.
pub fn reclaim(
    git: &dyn Git,
    reclaim: &Reclaim,
    unit: &Unit,
    root: &str,
    time: Timestamp,
) -> Vec<Reclaimed> {
    match reclaim {
        Reclaim::Rescue { path, branch } => {
            let request = RescueRequest {
                unit: unit.clone(),
                path: path.clone(),
                root: root.to_owned(),
                branch: Some(branch.clone()),
                time,
            };
            let rescued = git.rescue(&request);
            let cleaned = rescued.clone().and_then(|_| git.clean_tree(&request));
            let error = cleaned.err().map(|error| error.to_string());
            vec![reclaimed(request, rescued.ok().flatten(), error)]
        }
        Reclaim::Remove { root, trees } => trees
            .iter()
            .map(|tree| {
                let request = RescueRequest {
                    unit: tree.unit.clone(),
                    path: tree.path.clone(),
                    root: root.clone(),
                    branch: tree.branch.clone(),
                    time,
                };
                match git.remove_tree(&request) {
                    Ok(rescue) => reclaimed(request, rescue, None),
                    Err(failed) => reclaimed(request, failed.rescue, Some(failed.reason)),
                }
            })
            .collect(),
    }
}

fn reclaimed(request: RescueRequest, rescue: Option<String>, error: Option<String>) -> Reclaimed {
    let RescueRequest { unit, path, .. } = request;
    Reclaimed { unit, path, rescue, done: error.is_none(), error }
}
