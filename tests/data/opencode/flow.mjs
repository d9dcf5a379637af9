// Drives a server with OpenCode's own SDK: node flow.mjs ADDRESS DIRECTORY. Fails at the first difference.
// It stands beside the folder `node_modules` that has the SDK.
import assert from "node:assert/strict"
import * as sdk from "@opencode-ai/sdk/v2/client"
import * as first from "@opencode-ai/sdk/client"

const [baseUrl, directory] = process.argv.slice(2)
const client = sdk.createOpencodeClient({ baseUrl, directory, throwOnError: true })
const old = first.createOpencodeClient({ baseUrl })

const seen = []
const wait = async (find) => {
  for (let tries = 0; tries < 1200; tries++) {
    const found = await find()
    if (found) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error("it never came")
}
const told = (type, sessionID) => wait(() => seen.find((e) => e.type === type && e.properties.sessionID === sessionID))
const say = (sessionID, text) => client.session.prompt({ sessionID, parts: [{ type: "text", text }] })
const texts = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text)

const { stream } = await client.event.subscribe()
;(async () => { for await (const event of stream) seen.push(event) })()

const { id } = (await client.session.create({ title: "From the SDK" })).data
const answer = (await say(id, "hello")).data
assert.deepEqual([answer.info.role, answer.info.finish], ["assistant", "stop"])
assert.deepEqual(answer.parts.map((part) => part.type), ["step-start", "reasoning", "text", "step-finish"])
await told("session.idle", id)

const asked = say(id, "run the shell")
const ask = (await told("permission.asked", id)).properties
assert.equal(ask.metadata.command, "echo hello; date")
assert.deepEqual((await client.permission.list()).data.map((each) => each.id), [ask.id])
await client.permission.reply({ requestID: ask.id, reply: "once" })
assert.deepEqual(texts((await asked).data), ["All done after the tool."])

const given = "msg_ffffffffffff00000000000000"
const part = { id: "prt_ffffffffffff00000000000001", type: "text", text: "slow please" }
await client.session.promptAsync({ sessionID: id, messageID: given, parts: [part] })
await wait(() => seen.find((e) => e.type === "message.part.delta" && e.properties.delta.includes("word")))
assert.deepEqual(Object.values((await client.session.status()).data), [{ type: "busy" }])
await client.session.abort({ sessionID: id })
assert.equal((await told("session.error", id)).properties.error.name, "MessageAbortedError")
await wait(async () => Object.keys((await client.session.status()).data).length === 0)

const messages = (await client.session.messages({ sessionID: id })).data
assert.equal((await old.session.messages({ path: { id } })).data.length, messages.length)
assert.ok(messages.some((message) => message.info.id === given && message.parts[0].id === part.id))
const second = messages.filter((message) => message.info.role === "user")[1].info.id
assert.equal((await client.session.revert({ sessionID: id, messageID: second })).data.revert.messageID, second)
assert.equal((await client.session.unrevert({ sessionID: id })).data.revert, undefined)

const fork = (await client.session.fork({ sessionID: id, messageID: second })).data.id
assert.equal((await client.session.messages({ sessionID: fork })).data.length, 2)
const questioned = say(fork, "question")
const question = (await told("question.asked", fork)).properties
await client.question.reply({ requestID: question.id, answers: [["Blue"]] })
await questioned
for (const text of ["write", "todo", "task"]) await say(fork, text)
assert.equal((await client.session.todo({ sessionID: fork })).data.length, 1)
assert.deepEqual((await client.session.diff({ sessionID: fork })).data.map((diff) => diff.file), ["notes.txt"])
assert.equal((await client.session.children({ sessionID: fork })).data.length, 1)
await client.session.update({ sessionID: fork, title: "Renamed" })
assert.ok((await client.session.list()).data.some((each) => each.title === "Renamed"))
await client.session.delete({ sessionID: fork })
await told("session.deleted", fork)

const lenient = sdk.createOpencodeClient({ baseUrl, directory })
assert.ok((await lenient.session.get({ sessionID: fork })).error.data.message)
const refused = await lenient.auth.set({ providerID: "x", auth: { type: "api", key: "k" } })
assert.equal(refused.response.status, 403)
console.log(`${seen.length} events, ${new Set(seen.map((event) => event.type)).size} types`)
process.exit(0)
