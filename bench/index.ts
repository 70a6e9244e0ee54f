/**
 * `npm run bench [-- [rounds] [part ...] [files=<number>]]` measures servers in turn, in one run, and prints the ratios
 * between them. It asserts nothing.
 */
import { attacked } from './attacks/part.ts'
import { catalogueChanges } from './catalogue-changes.ts'
import { consoleUploads } from './console-uploads.ts'
import { contentHashes } from './content-hashes.ts'
import { encryption } from './encryption.ts'
import { folders } from './folders.ts'
import { jobMemory } from './job-memory.ts'
import { memory } from './memory.ts'
import { observation } from './observation.ts'
import type { Part } from './part.ts'
import { run } from './processes.ts'
import { remoteStorages } from './remote-storages.ts'
import { keepResults, load, section } from './results.ts'
import { s3 } from './s3.ts'
import { s3Endpoint } from './s3-endpoint.ts'
import { s3SmallFiles } from './s3-small-files.ts'
import { scaling } from './scaling.ts'
import { search } from './search.ts'
import { sftp } from './sftp.ts'
import { smallCalls } from './small-calls.ts'
import { smallFiles } from './small-files.ts'
import { start } from './start.ts'
import { streams } from './streams.ts'
import { thumbnails } from './thumbnails.ts'
import { trees } from './trees.ts'
import { webdav } from './webdav.ts'

const parts: Readonly<Record<string, Part>> = {
  streams,
  'small-files': smallFiles,
  'small-calls': smallCalls,
  'console-uploads': consoleUploads,
  'content-hashes': contentHashes,
  observation,
  folders,
  memory,
  start,
  scaling,
  s3,
  's3-small-files': s3SmallFiles,
  webdav,
  sftp,
  encryption,
  'remote-storages': remoteStorages,
  's3-endpoint': s3Endpoint,
  thumbnails,
  search,
  'catalogue-changes': catalogueChanges,
  trees,
  'job-memory': jobMemory,
  attacks: attacked,
}

const say = (line: string) => process.stdout.write(`${line}\n`)
const args = process.argv.slice(2)
const rounds = Number(args.find(argument => /^[1-9]\d*$/.test(argument)) ?? 3)
const [, files] = /(?:^| )files=([1-9]\d*)(?: |$)/.exec(args.join(' ')) ?? []
const named = args.filter(argument => !/^(?:files=)?[1-9]\d*$/.test(argument))
const unknown = named.find(name => !parts[name])
if (unknown !== undefined) {
  say(
    `Unknown part "${unknown}". Usage: npm run bench -- [rounds] [${Object.keys(parts).join(' | ')}] ... [files=<number>]`,
  )
  process.exit(2)
}

await run(process.execPath, [new URL('../scripts/start.js', import.meta.url).pathname, '--help']) // builds the server
const sections = new Map<string, string>()
const loadBefore = load()
const begin = performance.now()
for (const [name, part] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue
  say(`${part.title} ...`)
  const rows = await part.measure({ rounds, say, files: files === undefined ? undefined : Number(files) })
  if (rows.length === 0) continue
  const text = section(part, rows, rounds, loadBefore)
  sections.set(part.title, text)
  say(`\n${text}`)
}
await keepResults(
  sections,
  Object.values(parts).map(({ title }) => title),
)
say(`Results are in bench/RESULTS.md. The run took ${Math.round((performance.now() - begin) / 1000)} seconds.`)
