// The AI SDK with the provider for OpenCode: node ai.mjs ADDRESS DIRECTORY.
import assert from "node:assert/strict"
import { generateText, streamText } from "ai"
import { createOpencode } from "ai-sdk-provider-opencode-sdk"

const [baseUrl, cwd] = process.argv.slice(2)
const opencode = createOpencode({ baseUrl, autoStartServer: false, defaultSettings: { cwd } })
const model = () => opencode("bridle/m")

const generated = await generateText({ model: model(), prompt: "hello" })
assert.match(generated.text, /You said: hello/)
assert.ok(generated.usage.totalTokens > 0, JSON.stringify(generated.usage))

const streamed = streamText({ model: model(), prompt: "hello" })
let text = "", reasoning = "", pieces = 0
for await (const part of streamed.fullStream) {
  if (part.type === "error") throw part.error
  if (part.type === "text-delta") { text += part.text; pieces += 1 }
  if (part.type === "reasoning-delta") reasoning += part.text
}
assert.match(text, /You said: hello.*This is \*\*the answer\*\*\./)
assert.match(reasoning, /Hm, let me think/)
assert.ok(pieces > 2, "it streams")
console.log("generated and streamed")
process.exit(0)
