/** `node bench/adapters/index.ts [rounds] [type ...]` measures each adapter and another client of the same server in turn. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { interleave } from '../rounds.ts'
import { median, ratioOf } from '../table.ts'
import { azureBlob } from './azure-blob.ts'
import { dropbox } from './dropbox.ts'
import { ftp } from './ftp.ts'
import { googleDrive } from './google-drive.ts'
import { onedrive } from './onedrive.ts'
import { opendal } from './opendal.ts'
import { bytes, type OpenPair, transfersOf } from './pair.ts'
import { s3 } from './s3.ts'
import { sftp } from './sftp.ts'
import { webdav } from './webdav.ts'

const pairs: Readonly<Record<string, OpenPair>> = {
  sftp,
  ftp,
  webdav,
  s3,
  'azure-blob': azureBlob,
  'google-drive': googleDrive,
  dropbox,
  onedrive,
  opendal,
}

const say = (line: string) => process.stdout.write(`${line}\n`)
const args = process.argv.slice(2)
const isNumber = (argument: string) => /^[1-9]\d*$/.test(argument)
const rounds = Number(args.find(isNumber) ?? 3)
const named = args.filter(argument => !isNumber(argument))
const unknown = named.find(type => !pairs[type])
if (unknown !== undefined) {
  say(`Unknown type "${unknown}". Usage: node bench/adapters/index.ts [rounds] [${Object.keys(pairs).join(' | ')}] ...`)
  process.exit(2)
}

await using ends = new AsyncDisposableStack()
const home = await mkdtemp(join(tmpdir(), 'stowage-bench-'))
ends.defer(() => rm(home, { recursive: true, force: true }))
const file = join(home, 'file')
await writeFile(file, Buffer.alloc(bytes, 7))

say('| | Adapter | Other client | Ratio, median (lowest to highest round) |\n|---|---|---|---|')
for (const [type, open] of Object.entries(pairs)) {
  if (named.length === 0 || named.includes(type)) await measure(type, open)
}

async function measure(type: string, open: OpenPair): Promise<void> {
  await using ends = new AsyncDisposableStack()
  const folder = join(home, type)
  await mkdir(folder)
  const { provider, client, transfers } = await open({ teardown: end => ends.defer(end), folder, file })
  ends.defer(async () => provider.close?.())
  const adapter = transfersOf(provider)
  for (const way of ['upload', 'download'] as const) {
    const figures = await interleave(rounds, {
      adapter: () => rate(adapter[way]),
      other: () => rate(transfers[way]),
    })
    const { middle, range } = ratioOf(figures.adapter, figures.other)
    const speeds = `${speed(figures.adapter)} | ${client} ${speed(figures.other)}`
    say(`| \`${type}\`, ${way} | ${speeds} | ${middle} (${range}) |`)
  }
}

/** Returns MB/s. */
async function rate(transfer: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await transfer()
  return bytes / 1000 / (performance.now() - start)
}

function speed(figures: readonly number[]): string {
  return `${median(figures).toFixed(0)} MB/s`
}
