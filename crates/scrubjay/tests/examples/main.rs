//! Every example is run as it stands.

// A test fails by panicking.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../../examples/agent.rs"]
mod agent;
#[path = "../../examples/layer1_tool_results.rs"]
mod layer1_tool_results;
#[path = "../../examples/layer2_microcompaction.rs"]
mod layer2_microcompaction;
#[path = "../../examples/layer3_session_notes.rs"]
mod layer3_session_notes;
#[path = "../../examples/layer4_compaction.rs"]
mod layer4_compaction;
#[path = "../../examples/layer5_extraction.rs"]
mod layer5_extraction;
#[path = "../../examples/layer6_dreaming.rs"]
mod layer6_dreaming;
#[path = "../../examples/layer7_agents.rs"]
mod layer7_agents;

// spec: U9
#[test]
fn a_complete_agent_with_a_memory_and_each_layer_alone() {
    let examples = [
        agent::main,
        layer1_tool_results::main,
        layer2_microcompaction::main,
        layer3_session_notes::main,
        layer4_compaction::main,
        layer5_extraction::main,
        layer6_dreaming::main,
        layer7_agents::main,
    ];
    for example in examples {
        example().unwrap();
    }
}

#[test]
fn no_example_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let here = include_str!("main.rs");
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(here.contains(&format!("{name}::main,")), "{name} is not run");
    }
}
