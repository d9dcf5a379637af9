// `createOpencode()` starts the program `opencode` that it finds first: here one that names a running Bridle.
import assert from "node:assert/strict"
import * as v1 from "@opencode-ai/sdk"
import * as v2 from "@opencode-ai/sdk/v2"

const first = await v1.createOpencode()
const made = await first.client.session.create({ body: { title: "From the first SDK" } })
const asked = { path: { id: made.data.id }, body: { parts: [{ type: "text", text: "hello" }] } }
assert.equal((await first.client.session.prompt(asked)).data.info.finish, "stop")
const listed = (await first.client.session.list()).data
assert.ok(listed.some((each) => each.title === "From the first SDK"))
await first.client.session.delete({ path: { id: made.data.id } })
first.server.close()

const second = await v2.createOpencode()
assert.equal((await second.client.global.health()).data.healthy, true)
second.server.close()
console.log("created")
process.exit(0)
