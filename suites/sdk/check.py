"""What the official SDKs make of the simulator. One function a behaviour; the first failure ends the run."""

import sys

import anthropic
import openai

URL = sys.argv[1]
CLAUDE = "claude-opus-5-5"
GPT = "gpt-5.6"
SAID = "Hello from the other side of the wire."

claude = anthropic.Anthropic(api_key="suite-key", base_url=URL, max_retries=0)
gpt = openai.OpenAI(api_key="suite-key", base_url=URL + "/v1", max_retries=0)


def user(text):
    return [{"role": "user", "content": text}]


def fails(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


def ask(text, **more):
    return claude.messages.create(model=CLAUDE, max_tokens=1000, messages=user(text), **more)


# --- Messages API


def messages_create():
    reply = ask("hello")
    assert reply.content[0].text == SAID, reply
    assert reply.stop_reason == "end_turn" and reply.role == "assistant"
    assert reply.usage.input_tokens == 3 and reply.usage.output_tokens == 13, reply.usage
    assert reply._request_id.startswith("req_")


def messages_stream():
    with claude.messages.stream(model=CLAUDE, max_tokens=1000, messages=user("hello")) as stream:
        assert "".join(stream.text_stream) == SAID
        final = stream.get_final_message()
    assert final.usage.output_tokens == 13 and final.stop_reason == "end_turn"
    kinds = [event.type for event in ask("hello", stream=True)]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds


def messages_tools():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"name": "weather", "description": "the weather", "input_schema": schema}]
    reply = ask("use the tool", tools=tools)
    assert reply.stop_reason == "tool_use"
    call = reply.content[1]
    assert (call.name, call.input) == ("weather", {"city": "Lisbon", "days": 2})
    with claude.messages.stream(model=CLAUDE, max_tokens=1000, messages=user("use the tool"), tools=tools) as stream:
        assert stream.get_final_message().content[1].input == call.input
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sun"}
    history = user("use the tool") + [{"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    unanswered = history[:2] + user("hello")
    error = fails(anthropic.BadRequestError, lambda: claude.messages.create(model=CLAUDE, max_tokens=9, messages=unanswered))
    assert "without `tool_result` blocks" in str(error)
    # The script's list begins with an overload; the client tries again by itself.
    patient = claude.with_options(max_retries=2)
    assert patient.messages.create(model=CLAUDE, max_tokens=1000, messages=history, tools=tools).content[0].text == "The second try works."


def thinking_round_trip():
    first = ask("think", thinking={"type": "adaptive", "display": "summarized"})
    assert first.content[0].type == "thinking" and first.content[0].thinking == "first this, then that"
    history = user("think") + [{"role": "assistant", "content": first.content}] + user("hello")
    assert claude.messages.create(model=CLAUDE, max_tokens=1000, messages=history).content[0].text == SAID
    edited = user("think again") + history[1:]
    error = fails(anthropic.BadRequestError, lambda: claude.messages.create(model=CLAUDE, max_tokens=1000, messages=edited))
    assert "bound to a different conversation" in str(error)
    dropped = claude.beta.messages.create(
        model=CLAUDE, max_tokens=1000, messages=edited, betas=["thinking-binding-controls-2026-08-01"],
        thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
    )
    assert dropped.input_transformations[0].reason == "prefix_binding_mismatch", dropped


def count_tokens():
    counted = claude.messages.count_tokens(model=CLAUDE, messages=user("hello"), system="0123456789abcdef")
    assert counted.input_tokens == 3 + 6, counted


def models():
    listed = [model.id for model in claude.models.list(limit=1000)]
    assert CLAUDE in listed and GPT in listed
    one = claude.models.retrieve(CLAUDE)
    assert one.max_input_tokens == 1_000_000 and one.capabilities.thinking.types.adaptive.supported


def prompt_caching():
    system = [{"type": "text", "text": "s" * 8000, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    first = ask("hello", system=system).usage
    assert first.cache_creation_input_tokens == first.cache_creation.ephemeral_1h_input_tokens == 2600, first
    second = ask("hello", system=system).usage
    assert (second.cache_read_input_tokens, second.cache_creation_input_tokens, second.input_tokens) == (2600, 0, 3)
    third = ask("hello", system=system, cache_control={"type": "ephemeral"}).usage
    assert third.cache_read_input_tokens == 2600 and third.cache_creation.ephemeral_5m_input_tokens == 3, third


def context_management():
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    reply = claude.beta.messages.create(
        model=CLAUDE, max_tokens=1000, messages=user("hello"), betas=["context-management-2025-06-27"], context_management=edits
    )
    assert reply.context_management.applied_edits == []
    summary = claude.beta.messages.create(
        model=CLAUDE, max_tokens=1000, messages=user("hello"), betas=["compact-2026-09-04"], compaction={"type": "summarize"}
    )
    assert summary.stop_reason == "compaction" and summary.content[0].content == SAID
    history = [{"role": "assistant", "content": summary.content}] + user("hello")
    again = claude.beta.messages.create(model=CLAUDE, max_tokens=1000, messages=history, betas=["compact-2026-09-04"])
    assert again.content[0].text == SAID


def anthropic_errors():
    assert fails(anthropic.RateLimitError, lambda: ask("be busy")).response.headers["retry-after"] == "1"
    assert fails(anthropic.APIStatusError, lambda: ask("be overloaded")).status_code == 529
    fails(anthropic.InternalServerError, lambda: ask("be broken"))
    fails(anthropic.APIConnectionError, lambda: ask("hang up"))
    fails(anthropic.NotFoundError, lambda: claude.messages.create(model="none", max_tokens=9, messages=user("hello")))
    fails(anthropic.BadRequestError, lambda: claude.messages.create(model=CLAUDE, max_tokens=9, messages=[]))
    fails(anthropic.BadRequestError, lambda: ask("hello", extra_body={"temperature": 1.0}))
    stranger = anthropic.Anthropic(api_key="other", base_url=URL, max_retries=0)
    fails(anthropic.AuthenticationError, lambda: stranger.messages.create(model=CLAUDE, max_tokens=9, messages=user("hello")))
    fails(Exception, lambda: list(ask("break off", stream=True)))


# --- Chat Completions and Responses


def chat_create():
    reply = gpt.chat.completions.create(model=GPT, messages=user("hello"))
    assert reply.choices[0].message.content == SAID and reply.choices[0].finish_reason == "stop"
    long = user("w" * 8000 + " hello")
    gpt.chat.completions.create(model=GPT, messages=long)
    usage = gpt.chat.completions.create(model=GPT, messages=long).usage
    assert usage.prompt_tokens_details.cached_tokens == usage.prompt_tokens == 2002, usage


def chat_stream():
    stream = gpt.chat.completions.create(model=GPT, messages=user("hello"), stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == SAID
    assert chunks[-1].usage.completion_tokens == 10, chunks[-1]


def chat_tools():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    reply = gpt.chat.completions.create(model=GPT, messages=user("use the tool"), tools=tools).choices[0]
    assert reply.finish_reason == "tool_calls"
    call = reply.message.tool_calls[0]
    assert call.function.arguments == '{"city":"Lisbon","days":2}'
    history = user("use the tool") + [reply.message, {"role": "tool", "tool_call_id": call.id, "content": "sun"}] + user("hello")
    assert gpt.chat.completions.create(model=GPT, messages=history).choices[0].message.content == SAID
    streamed = gpt.chat.completions.create(model=GPT, messages=user("use the tool"), tools=tools, stream=True)
    deltas = [chunk.choices[0].delta for chunk in streamed]
    arguments = "".join(call.function.arguments or "" for delta in deltas for call in delta.tool_calls or [])
    assert arguments == call.function.arguments


def responses_create():
    reply = gpt.responses.create(model=GPT, input="hello")
    assert reply.output_text == SAID and reply.status == "completed"
    tools = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
    first = gpt.responses.create(model=GPT, input="use the tool", tools=tools)
    call = next(item for item in first.output if item.type == "function_call")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
    again = gpt.responses.create(model=GPT, input=[output] + user("hello"), previous_response_id=first.id, tools=tools)
    assert again.output_text == SAID
    assert again.usage.input_tokens_details.cached_tokens == 0


def responses_stream():
    with gpt.responses.stream(model=GPT, input="use the tool") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert final.output_text == "Let me look. "
    text = [event.delta for event in gpt.responses.create(model=GPT, input="hello", stream=True) if event.type == "response.output_text.delta"]
    assert "".join(text) == SAID


def openai_models_and_errors():
    assert GPT in [model.id for model in gpt.models.list()]
    fails(openai.RateLimitError, lambda: gpt.chat.completions.create(model=GPT, messages=user("be busy")))
    fails(openai.InternalServerError, lambda: gpt.responses.create(model=GPT, input="be broken"))
    fails(openai.APIConnectionError, lambda: gpt.chat.completions.create(model=GPT, messages=user("hang up")))
    fails(openai.NotFoundError, lambda: gpt.chat.completions.create(model="none", messages=user("hello")))
    error = fails(openai.BadRequestError, lambda: gpt.chat.completions.create(model=GPT, messages=user("w" * 1_700_000)))
    assert error.code == "context_length_exceeded", error
    stranger = openai.OpenAI(api_key="other", base_url=URL + "/v1", max_retries=0)
    fails(openai.AuthenticationError, lambda: stranger.models.list())


CHECKS = [
    messages_create, messages_stream, messages_tools, thinking_round_trip, count_tokens, models, prompt_caching,
    context_management, anthropic_errors, chat_create, chat_stream, chat_tools, responses_create, responses_stream,
    openai_models_and_errors,
]

if __name__ == "__main__":
    print(f"anthropic {anthropic.__version__}, openai {openai.__version__}")
    for check in CHECKS:
        check()
        print(f"ok {check.__name__}")
