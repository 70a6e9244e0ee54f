/** The catalogue: how fast it is filled, how much disk it needs, and how long searches take while it is filled and afterwards. */
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { client } from '../test/support/client.ts'
import { randomNumbers } from '../test/support/random.ts'
import { connectToDatabase, type Installation, install } from './installation.ts'
import { loadEntries } from './loaded-entries.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

/** Files on the disk, whose catalogue is filled. If more are measured, their entries are loaded into the database. */
const maxOnDisk = 200_000
const filesOfFolder = 100
const words =
  'report invoice photo holiday budget draft final team meeting notes summer berlin paris contract scan copy music video archive backup'.split(
    ' ',
  )
/** Frequent and rare ones: letters, beginnings, parts, whole words and several of them. */
const texts = ['in', 're', 'a', 'voice', 'report', 'holiday', 'invoice budget', 'paris 77', 'berlin-4', '12345', 'zzz']
const searchesOfText = 10
const narrow = '/report/holiday'

/** Returns paths of files at a depth of 6, of about 60 bytes. @param from the number of paths to leave out */
function* pathsOf(count: number, from = 0): Generator<string> {
  const random = randomNumbers(7)
  const word = () => words[Math.floor(random() * words.length)]
  let folder = ''
  for (let index = 0; index < count; index++) {
    if (index % filesOfFolder === 0) {
      const top = index % (20 * filesOfFolder) === 0 ? narrow.slice(1) : `${word()}/${word()}`
      folder = `${top}/${word()}-${Math.floor(random() * 100)}/${word()} ${word()}/${word()} ${index / filesOfFolder}`
    }
    const path = `${folder}/${word()} ${word()} ${index}.jpg`
    if (index >= from) yield path
  }
}

function* linesOf(paths: Iterable<string>): Generator<string> {
  for (const path of paths) yield `${path}\n`
}

/** Makes empty files. */
async function makeFiles(root: string, paths: readonly string[]): Promise<void> {
  for (const each of new Set(paths.map(dirname))) await mkdir(join(root, each), { recursive: true })
  // A queue of as many functions would take longer than the files.
  const left = paths.values()
  const make = async () => {
    for (const path of left) await writeFile(join(root, path), '')
  }
  await Promise.all(Array.from({ length: 64 }, make))
}

const searchQuery = `query ($input: SearchInput!) {
  search(input: $input, first: 50) { nodes { entry { path } } coverage { isComplete } } }`

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

/** Returns the time that 95 of 100 searches need at most. */
function atMost95(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN
}

async function p95(search: (text: string) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < searchesOfText; turn++) {
    for (const text of texts) times.push(await timeOf(() => search(text)))
  }
  return atMost95(times)
}

export const search: Part = {
  title: 'Search',
  about: `${texts.length} texts, each searched ${searchesOfText} times, one after the other: the milliseconds of 95 percent of the searches, with a session and
with a key for a twentieth of the files, while the catalogue is filled and afterwards. Files on the disk are empty. ripgrep reads a list of all paths, plocate has
a database of its own of that list, and rclone lists the folder where all files are on the disk.`,
  async measure({ rounds, say, files = maxOnDisk }) {
    await using installation = await install()
    const { folder, stowage, session } = installation
    const root = join(installation.files, 'searched')
    const onDisk = Math.min(files, maxOnDisk)
    await disconnect(installation, installation.providerId)
    say(`  makes ${onDisk.toLocaleString('en')} files`)
    await makeFiles(root, [...pathsOf(onDisk)])
    const list = join(folder, 'paths')
    await pipeline(linesOf(pathsOf(files)), createWriteStream(list))
    const api = client(stowage.url)
    const searchAs = (token: string) => async (text: string) =>
      (await api.ask(searchQuery, { input: { text, content: false } }, token)).search
    const alone = await fill(installation, root, null, say)
    const diskOfFilled = await bytesOfEntry(folder)
    await disconnect(installation, alone.providerId)
    const filled = await fill(installation, root, searchAs(session), say)
    // A session that is ten minutes old would have to be confirmed for it.
    const key = await narrowKey(installation, filled.providerId)
    if (files > onDisk) await loadEntries(folder, pathsOf(files, onDisk), say)
    const unit = 'bytes of each entry'
    const rows: Row[] = [
      { what: 'first fill of the catalogue', figures: [alone.rate], unit: 'entries/s' },
      { what: 'the same with searches meanwhile', figures: [filled.rate], unit: 'entries/s' },
      { what: 'disk of the catalogue after the fill', figures: [diskOfFilled], unit },
      ...(files > onDisk
        ? [{ what: 'disk with all entries, indexes built at once', figures: [await bytesOfEntry(folder)], unit }]
        : []),
      { what: 'search while the catalogue is filled', figures: [filled.search], unit: 'ms' },
    ]
    const others = await rivals(folder, files > onDisk ? null : root, list)
    const contestants = {
      'search with a session': searchAs(session),
      'search with a key for one folder': searchAs(key),
      ...others,
    }
    const timed = Object.entries(contestants).map(([name, run]) => [name, () => p95(run)] as const)
    const figures = await interleave(rounds, Object.fromEntries(timed))
    return [...rows, ...Object.entries(figures).map(([what, times]) => ({ what, figures: times, unit: 'ms' }))]
  },
}

interface Filled {
  providerId: string
  /** Entries per second. */
  rate: number
  /** Milliseconds that 95 of 100 searches need at most. */
  search: number
}

/** Disconnects a storage, waits until its catalogue is removed, and lets another one use its space. */
async function disconnect({ stowage, session, folder }: Installation, id: string): Promise<void> {
  await client(stowage.url).ask('mutation ($id: ID!) { disconnectProvider(id: $id) }', { id }, session)
  const db = await connectToDatabase(folder)
  while ((await db.query('select from catalogues')).rows.length > 0) await sleep(100)
  await db.query('vacuum catalogue_entries')
  await db.end()
}

/** Connects the files as the only storage, and waits until its catalogue is filled. @param search called again and again meanwhile */
async function fill(
  { stowage, session }: Installation,
  root: string,
  search: ((text: string) => Promise<unknown>) | null,
  say: (line: string) => void,
): Promise<Filled> {
  const api = client(stowage.url)
  const begin = performance.now()
  const providerId = await api.connectProvider(session, 'local', { root }, 'searched')
  const catalogue = async () => {
    const query = 'query ($id: ID!) { provider(id: $id) { catalogue { isComplete entries } } }'
    return (await api.ask(query, { id: providerId }, session)).provider.catalogue
  }
  const times: number[] = []
  let filled = await catalogue()
  for (; !filled.isComplete; filled = await catalogue()) {
    if (search) times.push(await timeOf(() => search(texts[times.length % texts.length] ?? '')))
    await sleep(100)
  }
  const rate = filled.entries / ((performance.now() - begin) / 1000)
  say(`  ${filled.entries} entries, ${times.length} searches meanwhile`)
  return { providerId, rate, search: atMost95(times) }
}

/** Returns the bytes of disk for each entry, with all indexes. */
async function bytesOfEntry(folder: string): Promise<number> {
  const db = await connectToDatabase(folder)
  try {
    await db.query('vacuum analyze catalogue_entries')
    const query = `select pg_total_relation_size('catalogue_entries') / count(*)::float8 as bytes from catalogue_entries`
    return (await db.query(query)).rows[0].bytes
  } finally {
    await db.end()
  }
}

async function narrowKey({ stowage, session }: Installation, providerId: string): Promise<string> {
  const providerAccess = { restrictions: [{ providerId, basePath: narrow }] }
  const { key } = await client(stowage.url).createKey(session, { name: 'narrow', scopes: ['read'], providerAccess })
  return key
}

/** Programs that find names, as far as they are installed. Each finds the files whose path contains all words. */
async function rivals(
  folder: string,
  /** Null if the paths are not all on the disk. */
  root: string | null,
  list: string,
): Promise<Record<string, (text: string) => Promise<unknown>>> {
  const [rg, plocate, build, rclone] = await Promise.all(['rg', 'plocate', 'plocate-build', 'rclone'].map(findProgram))
  const quiet = (program: string, args: string[]) => run(program, args).catch(() => null)
  const found: Record<string, (text: string) => Promise<unknown>> = {}
  if (rg) found['ripgrep over a list of the paths'] = text => quiet(rg, ['-i', '-F', '-c', '-e', text, list])
  if (plocate && build) {
    const database = join(folder, 'plocate.db')
    await run(build, ['-p', list, database])
    found.plocate = text => quiet(plocate, ['-i', '-d', database, '-l', '50', ...text.split(' ')])
  }
  if (rclone && root !== null) {
    found['rclone lsf of the folder'] = text =>
      quiet(rclone, ['lsf', '-R', '--files-only', '--ignore-case', '--include', `*${text}*`, '--config', '', root])
  }
  return found
}
