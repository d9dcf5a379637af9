"""Run an agent from threads, as synchronous web workers do."""

from concurrent.futures import ThreadPoolExecutor

from pydantic_ai import Agent
from scripted import scripted

agent = Agent(scripted(["Hello."]))
with ThreadPoolExecutor(8) as pool:
    results = list(pool.map(agent.run_sync, ["Hi"] * 64))
assert {result.output for result in results} == {"Hello."}
