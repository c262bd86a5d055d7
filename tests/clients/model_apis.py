"""How agents talk with their models: one class for each interface, all with the same functions.

is_conversation  whether a path is that of the model's turns
offered          names of the tools in a request
results          what came of each call so far, as lists of Text and Picture
events           a turn, a Call or a text, as server-sent events; `number` makes ids of calls unique
END              what ends the stream
"""

import base64
import json
import re

from scripted_model import Picture, Text

DATA_URL = re.compile(r"data:([^;]+);base64,(.*)", re.DOTALL)


def picture_of_url(url):
    media_type, data = DATA_URL.fullmatch(url).groups()
    return Picture(media_type, base64.b64decode(data))


def text_of(item):
    """Of what is no picture; what is no text either, as the JSON that it is."""
    return Text(item["text"] if item["type"].endswith("text") else json.dumps(item))


class OpenAiResponses:
    """Of codex."""

    END = b""

    @staticmethod
    def is_conversation(path):
        return path.endswith("/responses")

    @staticmethod
    def offered(request):
        names = []
        for tool in request.get("tools", []):
            if "tools" in tool:  # a namespace: all tools of one server
                names += [f"{tool['name']}/{one['name']}" for one in tool["tools"]]
            else:
                names.append(tool.get("name", tool["type"]))
        return names

    @staticmethod
    def block(item):
        if item["type"] == "input_image":
            return picture_of_url(item["image_url"])
        return text_of(item)

    @classmethod
    def results(cls, request):
        outputs = [item["output"] for item in request["input"]
                   if item["type"] == "function_call_output"]
        return [[Text(output)] if isinstance(output, str) else [cls.block(item) for item in output]
                for output in outputs]

    @staticmethod
    def item(turn, number):
        if isinstance(turn, str):
            return {"type": "message", "id": "msg_1", "role": "assistant",
                    "content": [{"type": "output_text", "text": turn}]}
        space, _, name = turn.tool.rpartition("/")
        return {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                "name": name, "arguments": json.dumps(turn.arguments),
                **({"namespace": space} if space else {})}

    @classmethod
    def events(cls, turn, number):
        usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        return [{"type": "response.created", "response": {"id": "resp_1"}},
                {"type": "response.output_item.done", "item": cls.item(turn, number)},
                {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}}]


class AnthropicMessages:
    """Of Claude Code."""

    END = b""

    @staticmethod
    def is_conversation(path):
        return path.partition("?")[0].endswith("/v1/messages")

    @staticmethod
    def offered(request):
        return [tool["name"] for tool in request.get("tools", [])]

    @staticmethod
    def block(item):
        if item["type"] == "image":
            source = item["source"]
            return Picture(source["media_type"], base64.b64decode(source["data"]))
        return text_of(item)

    @classmethod
    def results(cls, request):
        contents = [item["content"] for message in request["messages"]
                    if isinstance(message["content"], list) for item in message["content"]
                    if item["type"] == "tool_result"]
        return [[Text(content)] if isinstance(content, str) else [cls.block(item) for item in content]
                for content in contents]

    @staticmethod
    def events(turn, number):
        usage = {"input_tokens": 1, "output_tokens": 1}
        if isinstance(turn, str):
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": turn}
        else:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": turn.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
        reason = "end_turn" if isinstance(turn, str) else "tool_use"
        return [{"type": "message_start", "message": {
                    "id": f"msg_{number}", "type": "message", "role": "assistant", "content": [],
                    "model": "scripted", "stop_reason": None, "stop_sequence": None,
                    "usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "usage": usage,
                 "delta": {"stop_reason": reason, "stop_sequence": None}},
                {"type": "message_stop"}]


class Gemini:
    """Of Gemini CLI."""

    END = b""

    @staticmethod
    def is_conversation(path):
        return ":streamGenerateContent" in path

    @staticmethod
    def offered(request):
        return [declaration["name"] for tool in request.get("tools", [])
                for declaration in tool.get("functionDeclarations", [])]

    @staticmethod
    def results(request):
        results = []
        for part in (part for content in request["contents"] for part in content["parts"]):
            if "functionResponse" in part:
                response = part["functionResponse"]
                results.append([Text(text) for text in response["response"].values()])
                pictures = response.get("parts", [])
            else:
                pictures = [part]
            if results:
                results[-1] += [Picture(one["inlineData"]["mimeType"],
                                        base64.b64decode(one["inlineData"]["data"]))
                                for one in pictures if "inlineData" in one]
        return results

    @staticmethod
    def events(turn, number):
        part = {"text": turn} if isinstance(turn, str) else {"functionCall": {
            "id": f"call_{number}", "name": turn.tool, "args": turn.arguments}}
        return [{"candidates": [{"index": 0, "finishReason": "STOP",
                                 "content": {"role": "model", "parts": [part]}}],
                 "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1,
                                   "totalTokenCount": 2}}]


class OpenAiChat:
    """Of opencode, with a provider that is none of the great ones."""

    END = b"data: [DONE]\n\n"

    @staticmethod
    def is_conversation(path):
        return path.endswith("/chat/completions")

    @staticmethod
    def offered(request):
        return [tool["function"]["name"] for tool in request.get("tools", [])]

    @staticmethod
    def block(item):
        if item["type"] == "image_url":
            return picture_of_url(item["image_url"]["url"])
        return text_of(item)

    @classmethod
    def results(cls, request):
        """A tool's message is a text; its pictures follow in one that seems to be the user's."""
        results = []
        for message in request["messages"]:
            content = message.get("content") or []
            blocks = ([Text(content)] if isinstance(content, str)
                      else [cls.block(item) for item in content])
            if message["role"] == "tool":
                results.append(blocks)
            elif message["role"] == "user" and results:
                results[-1] += blocks
        return results

    @staticmethod
    def events(turn, number):
        if isinstance(turn, str):
            delta = {"role": "assistant", "content": turn}
        else:
            delta = {"role": "assistant", "tool_calls": [{
                "index": 0, "id": f"call_{number}", "type": "function", "function": {
                    "name": turn.tool, "arguments": json.dumps(turn.arguments)}}]}
        reason = "stop" if isinstance(turn, str) else "tool_calls"
        return [{"id": "chat_1", "object": "chat.completion.chunk", "created": 0,
                 "model": "scripted",
                 "choices": [{"index": 0, "delta": part, "finish_reason": end}]}
                for part, end in ((delta, None), ({}, reason))]
