use super::*;
use bayplan_model::{KubernetesVersion, ResourceSlice, Typed};

fn slice(driver: &str, device: &serde_json::Value) -> Arc<ResourceSlice> {
    let written = serde_json::json!({
        "metadata": {"name": "s"},
        "spec": {"driver": driver, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": [device]},
    });
    let written: <ResourceSlice as Typed>::Slim = serde_json::from_value(written).unwrap();
    Arc::new(ResourceSlice::from_object(&written).unwrap())
}

#[test]
fn scratch() {
    for (file, version) in
        [("/tmp/d36n.jsonl", KubernetesVersion::V1_36), ("/tmp/d37.jsonl", KubernetesVersion::V1_37)]
    {
        let rows = VersionRows::of(version);
        let selectors = DeviceSelectors::new(rows);
        let text =
            String::from_utf8(std::process::Command::new("cat").arg(file).output().unwrap().stdout).unwrap();
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let slice = slice(line["driver"].as_str().unwrap(), &line["device"]);
            let device = DeviceOf { slice: &slice, device: &slice.devices[0] };
            let expression: Arc<str> = line["expr"].as_str().unwrap().into();
            let here = selectors.selects(&expression, &device);
            let there = match (&line["compileError"], &line["error"], &line["matches"]) {
                (serde_json::Value::String(why), ..) => Err(SelectError::Compile(why.clone())),
                (_, serde_json::Value::String(why), _) => Err(SelectError::Run(why.clone())),
                (_, _, truth) => Ok(truth.as_bool().unwrap()),
            };
            let kind = match (&here, &there) {
                _ if here == there => "same",
                (Err(SelectError::Compile(_)), Err(SelectError::Compile(_))) => "compile text",
                (Err(SelectError::Run(_)), Err(SelectError::Run(_))) => "run text",
                _ => "WRONG",
            };
            *counts.entry(kind).or_default() += 1;
            if kind != "same" {
                println!("{version} {kind}: {expression}\n   here  {here:?}\n   there {there:?}");
            }
            if let (Selector::Program(program), Some(cost)) =
                (&*selectors.selector(&expression).1, line["cost"].as_u64())
            {
                let value =
                    convert::device(&slice.pool.driver, device.device, selectors.knows_lists()).unwrap();
                let mine = program.cost(value);
                let same = mine == cost || mine > 1_000_000 && cost > 1_000_000;
                *counts.entry(if same { "cost same" } else { "cost differs" }).or_default() += 1;
                if !same {
                    println!("{version} COST: {mine} there {cost}: {expression}");
                }
            }
        }
        println!("{version} COUNTS {counts:?}");
    }
}
