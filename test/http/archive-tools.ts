/** Runs the programs that people open archives with. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { requirePrograms } from '../servers/programs.ts'

const run = promisify(execFile)

export async function requireArchivers(): Promise<void> {
  await requirePrograms({
    who: 'The tests of archives',
    programs: ['unzip', '7zz', 'python3', 'curl'],
    packages: ['unzip', '7zip', 'python3-minimal', 'libpython3-stdlib', 'curl'],
    instead: 'put them on PATH',
  })
}

/** Downloads a large file, with runs of zeros stored as holes on disk. */
export async function fetchLarge(url: string, file: string, headers: Record<string, string>): Promise<void> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const pipe =
    'set -o pipefail; file=$1; shift; curl -sSf "$@" | dd of="$file" bs=64K iflag=fullblock conv=sparse status=none'
  await run('bash', ['-c', pipe, 'bash', file, ...given, url])
}

export interface Member {
  name: string
  /** Hexadecimal SHA-256 of the content, or of nothing for a member of 4 GiB or more. */
  sha256: string
  size: number
  compressed: boolean
  /** The time in the fixed fields, in steps of two seconds: ISO 8601 without a zone. */
  time: string
  isUtf8: boolean
}

const reader = `
import hashlib, json, sys, zipfile
members = []
with zipfile.ZipFile(sys.argv[1]) as archive:
    for info in archive.infolist():
        digest = hashlib.sha256()
        with archive.open(info) as file:
            while info.file_size < 1 << 32 and (chunk := file.read(1 << 20)):
                digest.update(chunk)
        members.append(dict(name=info.orig_filename, sha256=digest.hexdigest(), size=info.file_size,
            compressed=info.compress_type == zipfile.ZIP_DEFLATED, time='%04d-%02d-%02dT%02d:%02d:%02d' % info.date_time,
            isUtf8=bool(info.flag_bits & 0x800)))
json.dump(members, sys.stdout)
`

/** Reads an archive with Python's zipfile, but not the content of members of 4 GiB or more, which is slow. @throws if the archive is damaged */
export async function readWithPython(path: string): Promise<Member[]> {
  const { stdout } = await run('python3', ['-c', reader, path], { maxBuffer: 256 * 1024 * 1024 })
  return JSON.parse(stdout)
}

/** Tests an archive with 7-Zip and unzip. @param only the members that unzip reads, because it is slow @throws if either reports a problem */
export async function testWithOthers(path: string, ...only: string[]): Promise<void> {
  const options = { maxBuffer: 256 * 1024 * 1024, env: { ...process.env, LC_ALL: 'C.UTF-8' } }
  await run('unzip', ['-tqq', path, ...only], options)
  const { stdout } = await run('7zz', ['t', '-bd', path], options)
  if (!/Everything is Ok/.test(stdout) || /warning|error/i.test(stdout)) throw new Error(stdout)
}

/** Unpacks an archive with its modification times, which unzip reads in UTC from the extended fields. */
export async function extractWithUnzip(path: string, folder: string): Promise<void> {
  await run('unzip', ['-qq', path, '-d', folder], { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
}
