"""The same turns by the SDK's tool runner and its own memory tool: `sdk.py BASE_URL FOLDER`.

It keeps no record of events and no history, which longhaul does.
"""

import sys

from anthropic import Anthropic
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

base_url, folder = sys.argv[1:]
runner = Anthropic(base_url=base_url, api_key="any").beta.messages.tool_runner(
    model="scripted",
    max_tokens=16000,
    system="You keep notes.",
    messages=[{"role": "user", "content": "Write them down."}],
    tools=[BetaLocalFilesystemMemoryTool(base_path=folder)],
    stream=True,
    # The whole conversation with each request, as the public API has it.
    thread=False,
)
last = runner.until_done()
assert last.stop_reason == "end_turn", last
