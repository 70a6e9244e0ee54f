/**
 * Reads and writes files while a folder on their path is replaced by a link to the outside. RACE_TRIES sets the number of
 * tries. The files are in memory, because the fast way for small files leaves disks that sync slowly.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { at, bodyOf, call, get, put } from '../../adapters/conformance/kit.ts'
import { extent } from '../support/extent.ts'
import { memoryFolder } from '../support/memory-folder.ts'
import { until } from '../support/until.ts'
import { snapshot } from './snapshot.ts'
import { openTemporary } from './temporary.ts'

const tries = Number(process.env.RACE_TRIES ?? extent({ gate: 600, nightly: 4000 }))
const secret = 'SECRET of somebody else'
const names = ['file', 'sub/file', 'pipe']
/** Each round tries nine ways. */
const rounds = tries / 9
/** Milliseconds for further rounds, until each way has succeeded once. */
const patience = 30_000

t.test(
  'no read and no write leaves the root while a link is swapped in',
  { timeout: 30_000 + patience + 5 * tries },
  async t => {
    const { provider, root, outside } = await openTemporary(t, memoryFolder())
    for (const folder of [outside, join(root, 'dir')]) {
      await mkdir(join(folder, 'sub'), { recursive: true })
      for (const name of names) await writeFile(join(folder, name), folder === outside ? secret : 'inside')
    }
    // A writer waits here until somebody opens the FIFO for reading.
    await rm(join(outside, 'pipe'))
    await promisify(execFile)('mkfifo', [join(outside, 'pipe')])
    const writer = spawn('sh', ['-c', 'echo data > "$1"', 'sh', join(outside, 'pipe')], { stdio: 'ignore' })
    t.teardown(() => writer.kill('SIGKILL'))
    await mkdir(join(root, 'source'))
    await writeFile(join(root, 'source/brought'), 'inside')
    // From now on, threads read and write small files.
    await put(provider, 'warm', 'inside')
    await until(async () => (await provider.readSmall?.(at('warm'), { ...call(), maxBytes: 100 })) !== null)
    const before = await snapshot(outside)
    const worker = new Worker(new URL('swapper.ts', import.meta.url), {
      workerData: { folder: join(root, 'dir'), away: join(root, 'away'), outside },
    })
    await once(worker, 'online')

    const counts = {
      naive: 0,
      read: 0,
      small: 0,
      opened: 0,
      seen: 0,
      written: 0,
      stored: 0,
      copied: 0,
      together: 0,
      refused: 0,
    }
    const refuse = () => {
      counts.refused += 1
      return undefined
    }
    let round = 0
    const deadline = performance.now() + patience + 5 * tries
    const isWanted = () => round < rounds || (Object.values(counts).includes(0) && performance.now() < deadline)
    const client = async (_: unknown, number: number) => {
      const copy = `copy ${number}`
      const folder = `folder ${number}`
      await mkdir(join(root, folder))
      while (isWanted()) {
        round += 1
        const isControlled = round % 5 === 0
        const name = `dir/${names[round % names.length]}`
        const path = at(name)
        const read = await get(provider, name).catch(refuse)
        if (read !== undefined) {
          counts.read += 1
          if (read.includes('SECRET')) t.fail('the outside was read')
        }
        const opened = await provider.openFile?.(path, call()).catch(refuse)
        if (opened) {
          counts.opened += 1
          if ((await opened.handle.readFile('utf8')).includes('SECRET')) t.fail('the outside was opened')
          await opened.handle.close()
        }
        const small = await provider.readSmall?.(path, { ...call(), maxBytes: 100 }).catch(refuse)
        if (small) {
          counts.small += 1
          if (Buffer.from(small.bytes).includes('SECRET')) t.fail('the outside was read whole')
        }
        if (await provider.copy?.(path, at(copy), { ...call(), overwrite: true }).catch(refuse)) {
          counts.copied += 1
          if ((await get(provider, copy)).includes('SECRET')) t.fail('the outside was copied')
        }
        await provider.delete(at(`${folder}/file`), call())
        const [taken] = (await provider.copySmall?.(at('dir'), at(folder), ['file'], call()).catch(refuse)) ?? []
        if (taken) {
          counts.together += 1
          if ((await get(provider, `${folder}/file`)).includes('SECRET')) t.fail('the outside was copied together')
        }
        await provider.copySmall?.(at('source'), at('dir'), ['brought'], call()).catch(refuse)
        await provider.delete(at('dir/brought'), call()).catch(refuse)
        const entry = await provider.stat(path, call()).catch(refuse)
        if (entry) {
          counts.seen += 1
          if (entry.size === secret.length) t.fail('the outside was seen')
        }
        if (await put(provider, name, 'inside', true).catch(refuse)) counts.written += 1
        const known = { ...call(), size: 6, overwrite: true }
        if (await provider.write(path, bodyOf('inside'), known).catch(refuse)) counts.stored += 1
        // The control: an adapter that opens whole paths would read the secret.
        if (isControlled && !name.endsWith('pipe')) {
          const naive = await readFile(join(root, name), 'utf8').catch(() => '')
          if (naive === secret) counts.naive += 1
        }
      }
    }
    await Promise.all(Array.from({ length: 8 }, client))
    worker.postMessage('stop')
    const [swaps] = await once(worker, 'message')
    await worker.terminate()

    t.strictSame(await snapshot(outside), before, 'the outside is unchanged')
    // Without a reader, the writer ends by SIGPIPE.
    t.strictSame([writer.exitCode, writer.signalCode], [null, null], 'the FIFO outside was never opened')
    t.ok(counts.naive > 0, `by path, the outside was read ${counts.naive} times: the race is real`)
    t.ok(swaps > 100, `${swaps} swaps`)
    t.comment(counts)
    for (const [what, count] of Object.entries(counts)) t.ok(count > 0, `${what}: ${count}`)
  },
)
