import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { growth } from './growth.ts'
import { type Installation, install, makeFile, query } from './installation.ts'
import type { Part } from './part.ts'

const mib = 1024 * 1024
const fileBytes = 1000 * mib
const clients = 64
const stepMs = 100
const steps = 50
/** The bytes of each client per step: 640 KiB per second. */
const stepBytes = 64 * 1024

export const memory: Part = {
  title: 'Memory for slow clients',
  about: `The peak growth of the server's resident memory while ${clients} clients each transfer a file of ${fileBytes / mib} MiB on a local disk at ${(stepBytes / 1024) * (1000 / stepMs)} KiB per second,
for ${(steps * stepMs) / 1000} seconds. Each round has a fresh server.`,
  async measure({ rounds, say }) {
    const figures = { down: [] as number[], up: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      say(`  round ${round + 1}`)
      await using installation = await install()
      await makeFile(join(installation.files, 'down.bin'), fileBytes)
      // A first request makes the server load its code.
      await readSlowly(installation, 1, 2)
      figures.down.push(await growth(installation.stowage, () => readSlowly(installation, clients, steps)))
      await writeSlowly(installation, 1, 2)
      figures.up.push(await growth(installation.stowage, () => writeSlowly(installation, clients, steps)))
    }
    return [
      { what: `${clients} slow downloads`, figures: figures.down, unit: 'MiB' },
      { what: `${clients} slow raw uploads`, figures: figures.up, unit: 'MiB' },
    ]
  },
}

async function readSlowly(
  { stowage, key, providerId }: Installation,
  count: number,
  stepsToTake: number,
): Promise<void> {
  const url = `${stowage.url}/api/download/proxy${query(providerId, '/down.bin')}`
  const started = Array.from({ length: count }, async () => {
    const asked = request(url, { headers: { authorization: `Bearer ${key}` }, agent: false })
    asked.end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    return response
  })
  const responses = await Promise.all(started)
  for (let step = 0; step < stepsToTake; step += 1) {
    for (const response of responses) {
      if (response.read(stepBytes) === null) response.read()
    }
    await sleep(stepMs)
  }
  for (const response of responses) response.destroy()
}

async function writeSlowly(
  { stowage, key, providerId }: Installation,
  count: number,
  stepsToTake: number,
): Promise<void> {
  const requests: ClientRequest[] = Array.from({ length: count }, (_, index) => {
    const url = `${stowage.url}/api/upload/proxy${query(providerId, `/up-${index}.bin`)}`
    const headers = { authorization: `Bearer ${key}`, 'content-length': fileBytes }
    return request(url, { method: 'POST', headers, agent: false }).on('error', () => {})
  })
  const chunk = Buffer.alloc(stepBytes, 7)
  for (let step = 0; step < stepsToTake; step += 1) {
    for (const asked of requests) asked.write(chunk)
    await sleep(stepMs)
  }
  for (const asked of requests) asked.destroy()
}
