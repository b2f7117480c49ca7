//! The simulator's tokenizer: one rule, so that a test can predict every count.
//!
//! A block counts one token for each four bytes it began, at least one, times the model's scale in percent (rounded up).
//! Which bytes: the text of a text block; name and input JSON of a tool call; the text of a tool result; the whole JSON,
//! without cache marker, of anything else (tool definitions too). An image or a document counts [`PICTURE`]. Thinking
//! counts what it cost when it was written, whether its text was shown or not.

use super::anthropic::thinking;
use serde_json::Value;

/// What an image or a document counts, whatever its size.
pub const PICTURE: u64 = 1_500;

const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of some text under a scale in percent.
pub fn of_text(text: &str, scale_percent: u64) -> u64 {
    scaled(text.len() as u64, scale_percent)
}

/// Tokens of one content block, system block or tool definition.
pub fn of_block(block: &Value, scale_percent: u64) -> u64 {
    match block["type"].as_str() {
        Some("text" | "input_text" | "output_text") => of_text(text_of(block), scale_percent),
        Some("image" | "document" | "image_url" | "input_image" | "input_file") => PICTURE,
        Some("thinking" | "redacted_thinking") => {
            thinking::counted(block).unwrap_or_else(|| json(block, scale_percent))
        }
        Some("tool_use") => {
            let bytes = block["name"].as_str().unwrap_or_default().len() + block["input"].to_string().len();
            scaled(bytes as u64, scale_percent)
        }
        Some("tool_result") => of_result(&block["content"], scale_percent),
        Some("compaction") => of_text(block["content"].as_str().unwrap_or_default(), scale_percent),
        _ => json(block, scale_percent),
    }
}

fn of_result(content: &Value, scale_percent: u64) -> u64 {
    match content {
        Value::String(text) => of_text(text, scale_percent),
        Value::Array(parts) => parts.iter().map(|part| of_block(part, scale_percent)).sum::<u64>().max(1),
        _ => 1,
    }
}

fn text_of(block: &Value) -> &str {
    block["text"].as_str().unwrap_or_default()
}

fn json(block: &Value, scale_percent: u64) -> u64 {
    scaled(super::anthropic::canonical(block).len() as u64, scale_percent)
}

fn scaled(bytes: u64, scale_percent: u64) -> u64 {
    (bytes.div_ceil(BYTES_PER_TOKEN) * scale_percent).div_ceil(100).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // spec: H5
    #[test]
    fn counts_can_be_predicted() {
        for (block, scale, tokens) in [
            (json!({"type":"text","text":"12345678"}), 100, 2),
            (json!({"type":"text","text":"123456789"}), 100, 3),
            (json!({"type":"text","text":"12345678"}), 130, 3),
            (json!({"type":"text","text":""}), 100, 1),
            (json!({"type":"text","text":"1234","cache_control":{"type":"ephemeral"}}), 100, 1),
            (json!({"type":"image","source":{"data":"x"}}), 100, PICTURE),
            (json!({"type":"tool_use","id":"t","name":"Read","input":{"a":1}}), 100, 3),
            (json!({"type":"tool_result","tool_use_id":"t","content":"12345678"}), 100, 2),
            (
                json!({"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"1234"},{"type":"image"}]}),
                100,
                1501,
            ),
            (json!({"type":"tool_result","tool_use_id":"t"}), 100, 1),
        ] {
            assert_eq!(of_block(&block, scale), tokens, "{block}");
        }
    }
}
