"""Responses a line each, of documents only some numbers."""
import json
import sys

for line in sys.stdin:
    response = json.loads(line)
    result = response.get("result", {})
    if "content" in result and not result["isError"]:
        document = json.loads(result["content"][0]["text"])
        shown = {name: document[name] for name in ("verdict", "candidates", "explain") if name in document}
        if "performance" in document:
            shown["step_time_s"] = document["performance"]["step_time_s"]
        if "memory" in document:
            shown["fits"] = document["memory"]["fits"]
        if "trace" in document:
            shown["ranks"] = len(document["trace"]["ranks"])
        if "best" in document:
            shown["best"] = document["best"][0]["step_time_s"]
        print(response["id"], json.dumps(shown))
    else:
        print(json.dumps(response))
