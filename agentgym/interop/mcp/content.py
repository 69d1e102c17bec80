"""Content between the two protocols: messages to MCP's blocks, and blocks to content."""

import json
import math
from collections.abc import Iterable, Iterator

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agentgym.types import Content, ImagePart, Json, Message, TextPart


def to_blocks(messages: Iterable[Message]) -> list[TextContent | ImageContent]:
    """Return the blocks that show messages, in their order."""
    return [block for message in messages for block in _message_blocks(message)]


def _message_blocks(message: Message) -> Iterator[TextContent | ImageContent]:
    if isinstance(message.content, str):
        yield TextContent(text=message.content)
        return
    for part in message.content:
        if isinstance(part, TextPart):
            yield TextContent(text=part.text)
        else:
            head, _, data = part.url.partition(",")
            yield ImageContent(data=data, mime_type=head[len("data:") :].partition(";")[0])


def to_resource(
    messages: Iterable[Message], uri: str
) -> list[TextResourceContents | BlobResourceContents]:
    """Return the contents of a resource that shows messages, in their order."""
    return [
        TextResourceContents(uri=uri, mime_type="text/plain", text=block.text)
        if isinstance(block, TextContent)
        else BlobResourceContents(uri=uri, mime_type=block.mime_type, blob=block.data)
        for block in to_blocks(messages)
    ]


def from_result(result: CallToolResult, *, longest: int) -> Content:
    """Return what a tool answered as message content.

    Structured content is shown only where there is no other, which a server should give too.

    Args:
        result: The answer.
        longest: Characters of a text that are shown; what is left out is counted.
    """
    blocks: list[ContentBlock] = list(result.content)
    if not blocks and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
        blocks = [TextContent(text=text)]
    if any(isinstance(block, ImageContent) for block in blocks):
        return tuple(_part(block, longest) for block in blocks)
    return _cut("\n".join(_text(block) for block in blocks), longest)


def number_in(result: CallToolResult) -> float | None:
    """Return the finite number that a tool answered, alone or as `result` or `reward`.

    None where it answered by anything else. True is 1, and false is 0; text is read as JSON.
    """
    value: Json = result.structured_content
    if value is None:
        value = "".join(block.text for block in result.content if isinstance(block, TextContent))
    value = _read(value)
    if isinstance(value, dict):
        value = _read(value.get("result", value.get("reward")))
    if result.is_error or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _read(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _part(block: ContentBlock, longest: int) -> TextPart | ImagePart:
    if isinstance(block, ImageContent):
        return ImagePart(url=f"data:{block.mime_type};base64,{block.data}")
    return TextPart(text=_cut(_text(block), longest))


def _text(block: ContentBlock) -> str:
    match block:
        case ImageContent():
            return f"(image, {block.mime_type})"
        case TextContent():
            return block.text
        case AudioContent():
            return f"(audio, {block.mime_type})"
        case ResourceLink():
            return f"{block.name}: {block.uri}"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"({resource.mime_type or 'bytes'} at {resource.uri})"


def _cut(text: str, longest: int) -> str:
    left_out = len(text) - longest
    return text if left_out <= 0 else f"{text[:longest]}\n({left_out} characters more)"
