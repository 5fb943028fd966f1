use super::*;
use bayplan_model::objects::devices::Device;
use bayplan_model::{KubernetesVersion, ResourceSlice};

