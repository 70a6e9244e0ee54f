/** Compares files that are written in any order, with failures, with what a buffer would have. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { ByteBudget } from '../../src/lib/byte-budget.ts'
import { RandomWrites, type RandomWritesOptions } from '../../src/services/open-files/random-writes.ts'
import type { StagedContent } from '../../src/services/open-files/staged-file.ts'
import { UploadBody } from '../../src/services/open-files/upload-body.ts'
import type { WriteBounds } from '../../src/services/open-files/write-bounds.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'

const owner = 'member'
const mebibyte = 1024 * 1024
const budgets = { small: new ByteBudget({ total: 60 }), ahead: new ByteBudget({ total: 50 }) }
const bounds: WriteBounds = { small: 24, window: 40, copy: 48, memory: budgets }
const fault = new Error('injected')

type Step =
  | { kind: 'write'; at: number | 'next' | 'in order'; length: number }
  | { kind: 'truncate'; size: number }
  | { kind: 'read'; at: number; length: number }
  | { kind: 'store' }

type Fault = 'stage' | 'load' | 'upload' | 'late upload' | 'staged write'

/** A staged file without a disk. */
class StagedMemory implements StagedContent {
  readonly #place: Place
  #content: Buffer = Buffer.alloc(0)
  #isOpen = true

  constructor(place: Place) {
    this.#place = place
    place.open += 1
  }

  get size(): number {
    return this.#content.length
  }

  async write(position: number, bytes: Buffer): Promise<void> {
    await this.#use()
    this.#content = written(this.#content, position, bytes)
  }

  async truncate(size: number): Promise<void> {
    await this.#use()
    this.#content = resized(this.#content, size)
  }

  async read(target: Buffer, at: number, position: number, length: number): Promise<number> {
    return this.#content.subarray(position, position + length).copy(target, at)
  }

  stream(): Readable {
    return Readable.from([this.#content], { objectMode: false })
  }

  async #use(): Promise<void> {
    await Promise.resolve()
    if (!this.#isOpen) throw new Error('used after its end')
    if (this.#place.fault === 'staged write') throw fault
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOpen) throw new Error('closed twice')
    this.#isOpen = false
    this.#place.open -= 1
  }
}

/** One path of a back end. */
class Place {
  content: Buffer | null
  etag = 0
  fault: Fault | null = null
  /** Staged files that are open. */
  open = 0

  constructor(content: Buffer | null) {
    this.content = content
  }

  put(content: Buffer): { etag: string } {
    this.content = content
    this.etag += 1
    return { etag: String(this.etag) }
  }

  writes(mode: Partial<RandomWritesOptions>): RandomWrites {
    const existing = this.content && { size: this.content.length, modifiedAt: new Date(0) }
    return new RandomWrites({
      owner,
      existing,
      isNew: false,
      reads: false,
      bounds,
      ...mode,
      upload: async ({ body, condition }) => {
        if (this.fault === 'upload') throw fault
        const content = await buffer(body)
        if (this.fault === 'late upload') throw fault
        if (condition && !condition(this.content && String(this.etag))) throw new Error('condition')
        return this.put(content)
      },
      stage: async () => {
        if (this.fault === 'stage') throw fault
        const file = new StagedMemory(this)
        return file
      },
      load: async file => {
        if (this.fault === 'load') throw fault
        const etag = String(this.etag)
        await file.write(0, this.content ?? Buffer.alloc(0))
        return current => current === etag
      },
    })
  }
}

/** What a disk would have. */
function written(content: Buffer, at: number, bytes: Buffer): Buffer {
  const result = Buffer.alloc(Math.max(content.length, at + bytes.length))
  content.copy(result)
  bytes.copy(result, at)
  return result
}

function resized(content: Buffer, size: number): Buffer {
  const result = Buffer.alloc(size)
  content.copy(result)
  return result
}

const positions = fc.integer({ min: 0, max: 90 })
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      at: fc.oneof(fc.constantFrom('next' as const, 'in order' as const), positions),
      length: fc.integer({ min: 0, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate' as const), size: positions }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      at: positions,
      length: fc.integer({ min: 1, max: 50 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('store' as const) }) },
)
const cases = fc.record({
  steps: fc.array(steps, { maxLength: 12 }),
  mode: fc.record({ appends: fc.boolean(), reads: fc.boolean() }),
  existing: fc.oneof(fc.constant(null), fc.uint8Array({ maxLength: 60 })),
  fault: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    {
      weight: 2,
      arbitrary: fc.record({
        step: fc.nat(12),
        kind: fc.constantFrom<Fault>('stage', 'load', 'upload', 'late upload', 'staged write'),
      }),
    },
  ),
})

t.test('a file that is closed has exactly what was written, and one whose close fails is the old one', async t => {
  let failed = 0
  let closed = 0
  await fc.assert(
    fc.asyncProperty(cases, async ({ steps, mode, existing, fault }) => {
      const place = new Place(existing && Buffer.from(existing))
      const writes = place.writes({ reads: mode.reads })
      let expected: Buffer = Buffer.from(existing ?? [])
      let next = 0
      /** The end of what was written without a gap. */
      let inOrder = 0
      let hasFailed = false
      /** What others see: only `store` may change it. */
      let visible = place.content
      const attempt = async (work: () => Promise<unknown>) => {
        const hadFailed = hasFailed
        await work().catch(() => {
          hasFailed = true
        })
        if (hadFailed && !hasFailed) throw new Error('went on after a failure')
      }
      for (const [index, step] of steps.entries()) {
        if (fault?.step === index) place.fault = fault.kind
        if (step.kind === 'write') {
          const bytes = Buffer.alloc(step.length, index + 1)
          const position = step.at === 'next' ? next : step.at === 'in order' ? inOrder : step.at
          await attempt(() => writes.write(mode.appends ? 'end' : position, bytes))
          if (bytes.length > 0) expected = written(expected, mode.appends ? expected.length : position, bytes)
          next = position + bytes.length
          if (position === inOrder) inOrder = next
        } else if (step.kind === 'truncate') {
          await attempt(() => writes.truncate(step.size))
          expected = resized(expected, step.size)
        } else if (step.kind === 'store') {
          const before = hasFailed
          await attempt(() => writes.store())
          if (!hasFailed && !place.content?.equals(expected)) throw new Error('stored something else')
          if (!before && !hasFailed) visible = place.content
        } else if (mode.reads) {
          const target = Buffer.alloc(step.length)
          await attempt(async () => {
            const length = await writes.read(target, 0, step.at, step.length)
            const right = expected.subarray(step.at, step.at + step.length)
            if (!target.subarray(0, length).equals(right)) throw new Error('read something else')
          })
          if (hasFailed && !place.fault) throw new Error('a read failed')
        }
        if (place.content !== visible) throw new Error('something became visible')
      }
      const isStored = await writes.store().then(
        () => true,
        () => false,
      )
      if (isStored && hasFailed) throw new Error('closed after a failure')
      if (isStored && !place.content?.equals(expected)) throw new Error('closed with something else')
      if (!isStored && place.content !== visible) throw new Error('failed, and changed the file')
      await writes[Symbol.asyncDispose]()
      const isTaken = await writes.write(0, Buffer.from('late')).then(
        () => true,
        () => false,
      )
      if (isTaken) throw new Error('took bytes after the end')
      if (place.open !== 0) throw new Error('a staged file is open')
      if (isStored) closed += 1
      else failed += 1
    }),
    { numRuns: extent({ gate: 250, nightly: 20_000 }) },
  )
  t.ok(closed > 60 && failed > 15, `${closed} closed, ${failed} failed`)
  for (const budget of Object.values(budgets))
    t.equal(budget.tryTake(owner, budget.bounds.total), null, 'all memory is free')
  for (const budget of Object.values(budgets)) budget.release(owner, budget.bounds.total)
})

t.test('bytes that wait ahead stay where bytes in order overlap them', async t => {
  const place = new Place(null)
  await using writes = place.writes({ bounds: { ...bounds, small: 1024, window: 1024, memory: usualMemory() } })
  await writes.write(100, Buffer.alloc(100, 'b'))
  await writes.write(0, Buffer.alloc(150, 'a'))
  await writes.store()
  t.same(place.content, Buffer.concat([Buffer.alloc(150, 'a'), Buffer.alloc(50, 'b')]))
})

t.test('single bytes in any order make one file', async t => {
  const content = Buffer.from(Array.from({ length: 1000 }, (_, position) => position % 251))
  const inOrder = [...content.keys()]
  const oddFirst = inOrder.toSorted((a, b) => (b % 2) - (a % 2))
  for (const [positions, isStaged] of [
    [inOrder, false],
    [oddFirst, true],
  ] as const) {
    const place = new Place(null)
    await using writes = place.writes({ bounds: { ...bounds, small: 1024, window: 1024, memory: usualMemory() } })
    for (const position of positions) await writes.write(position, content.subarray(position, position + 1))
    t.equal(place.open, isStaged ? 1 : 0, 'so many pieces do not wait in memory')
    await writes.store()
    t.same(place.content, content)
  }
})

t.test('single bytes of a stream wait joined', async t => {
  const body = new UploadBody()
  let added = 0
  // Nobody reads, so the last one waits.
  const adding = (async () => {
    for (; added < mebibyte; added += 1) await body.add(Buffer.from([added % 251]))
    body.finish()
  })()
  await until(() => body.readableLength >= 256 * 1024)
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  await adding
  t.ok(chunks.length <= 17, `${chunks.length} pieces`)
  t.ok(Buffer.concat(chunks).every((byte, at) => byte === at % 251))
  t.equal(added, mebibyte)

  const mixed = new UploadBody()
  const pieces = [5, 70_000, 1, 4095, 4096, 3].map((length, n) => Buffer.alloc(length, n + 1))
  for (const piece of pieces) await mixed.add(piece)
  mixed.finish()
  t.same(Buffer.concat(await mixed.toArray()), Buffer.concat(pieces), 'the order stays')
})

t.test('a stream whose client goes back is sent again, and fails beyond the copy', async t => {
  for (const [size, isStored] of [
    [40, true],
    [60, false],
  ] as const) {
    const place = new Place(Buffer.from('old'))
    await using writes = place.writes({ existing: null })
    await writes.write(0, Buffer.alloc(20, 'a'))
    await writes.write(20, Buffer.alloc(size - 20, 'a'))
    const back = writes.write(0, Buffer.from('head'))
    if (isStored) await back
    else t.match(await failureOf(back), { reason: 'INVALID_INPUT', message: /from the start to the end/ })
    t.same(place.content, Buffer.from('old'))
    if (isStored) await writes.store()
    else t.match(await failureOf(writes.store()), { reason: 'INVALID_INPUT' })
    t.equal(String(place.content), isStored ? `head${'a'.repeat(size - 4)}` : 'old')
  }
})

t.test('a file that somebody else changes after a store is not mixed with theirs', async t => {
  const place = new Place(null)
  await using writes = place.writes({})
  await writes.write(0, Buffer.from('mine'))
  await writes.store()
  place.put(Buffer.from('theirs'))
  t.match(await failureOf(writes.write(4, Buffer.from('!'))), { reason: 'PRECONDITION_FAILED' })
  t.match(await failureOf(writes.store()), { reason: 'PRECONDITION_FAILED' })
  t.same(place.content, Buffer.from('theirs'))
})

t.test('the size is that of the file that is loaded, and its time stays until it changes', async t => {
  const place = new Place(Buffer.from('longer'))
  const modifiedAt = new Date(1000)
  await using writes = place.writes({ existing: { size: null, modifiedAt } })
  t.same(writes.entry.modifiedAt, modifiedAt)
  t.notOk(writes.setTime(modifiedAt), 'nothing is sent that could carry a time')
  await writes.write('end', Buffer.from('!'))
  t.equal(writes.entry.size, 7)
  t.ok(writes.setTime(modifiedAt))
  await writes.store()
  t.notOk(writes.setTime(modifiedAt))
  t.same(place.content, Buffer.from('longer!'))
})

t.test('a stream is read as far as it has a copy, and goes on in any case', async t => {
  for (const [size, isRead] of [
    [40, true],
    [60, false],
  ] as const) {
    const place = new Place(null)
    await using writes = place.writes({})
    await writes.write(0, Buffer.alloc(20, 'a'))
    await writes.write(20, Buffer.alloc(size - 20, 'b'))
    const target = Buffer.alloc(100)
    const reading = writes.read(target, 0, 10, 100)
    if (isRead) {
      t.equal(await reading, size - 10)
      t.equal(target.toString('utf8', 0, 12), `${'a'.repeat(10)}bb`)
      t.equal(await writes.read(target, 0, 50, 10), 0)
    } else t.match(await failureOf(reading), { reason: 'INVALID_INPUT', message: /too large to be read/ })
    await writes.write(size, Buffer.from('!'))
    await writes.store()
    t.equal(String(place.content), `${'a'.repeat(20)}${'b'.repeat(size - 20)}!`)
  }
})

t.test('a file that is discarded while it is staged gives everything back', async t => {
  const place = new Place(null)
  const writes = place.writes({})
  const running = writes.write(80, Buffer.from('far'))
  const behind = writes.write(0, Buffer.from('behind'))
  const [failure] = await Promise.all([failureOf(behind), writes[Symbol.asyncDispose](), Promise.allSettled([running])])
  t.match(failure, { reason: 'INVALID_INPUT' })
  t.equal(place.open, 0)
  t.equal(place.content, null)
})

function usualMemory(): WriteBounds['memory'] {
  return { small: new ByteBudget({ total: 4096 }), ahead: new ByteBudget({ total: 4096 }) }
}

/** Returns what a promise is rejected with; null if it resolves. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    error => error,
  )
}
