"""Asks ``manage.py mcp`` by the protocol's own client, and prints the answers: mcp_client.py SESSION_ID"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import get_default_environment, stdio_client


async def ask(session_id):
    server = StdioServerParameters(
        command=sys.executable, args=["manage.py", "mcp"], env={**get_default_environment(), **os.environ}
    )
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        names = sorted(tool.name for tool in (await session.list_tools()).tools)
        answers = {}
        for name, arguments in (
            *(("health", {}), ("doctor", {}), ("stats", {"days": 2}), ("projects", {}), ("providers", {})),
            *(("story", {"id": session_id}), ("story", {"id": "01NOBODY"})),
        ):
            answer = await session.call_tool(name, arguments)
            answers[f"{name} {arguments.get('id', '')}".strip()] = answer.content[0].text
        return {"names": names, "answers": answers}


print(json.dumps(asyncio.run(ask(sys.argv[1]))))
