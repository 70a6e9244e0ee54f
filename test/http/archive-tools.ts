/** The programs that people open archives with. */
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

/** For what is large: runs of zeros become holes on disk. */
export async function fetchLarge(url: string, file: string, headers: Record<string, string>): Promise<void> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const pipe =
    'set -o pipefail; file=$1; shift; curl -sSf "$@" | dd of="$file" bs=64K iflag=fullblock conv=sparse status=none'
  await run('bash', ['-c', pipe, 'bash', file, ...given, url])
}

export interface Member {
  name: string
  /** Hexadecimal SHA-256 of the content; of nothing where that has 4 GiB and more. */
  sha256: string
  size: number
  compressed: boolean
  /** The whole seconds of the fixed fields, which are even: ISO 8601 without a zone. */
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

/** As Python's zipfile reads it, but for the content of a member of 4 GiB and more: that takes it long. @throws where it is damaged */
export async function readWithPython(path: string): Promise<Member[]> {
  const { stdout } = await run('python3', ['-c', reader, path], { maxBuffer: 256 * 1024 * 1024 })
  return JSON.parse(stdout)
}

/** @param only members that unzip reads, which is slow; 7-Zip reads all. @throws where they find anything to complain of */
export async function testWithOthers(path: string, ...only: string[]): Promise<void> {
  const options = { maxBuffer: 256 * 1024 * 1024, env: { ...process.env, LC_ALL: 'C.UTF-8' } }
  await run('unzip', ['-tqq', path, ...only], options)
  const { stdout } = await run('7zz', ['t', '-bd', path], options)
  if (!/Everything is Ok/.test(stdout) || /warning|error/i.test(stdout)) throw new Error(stdout)
}

/** Unpacks with the modification times in UTC, as the archive has them for those who can read them. */
export async function extractWithUnzip(path: string, folder: string): Promise<void> {
  await run('unzip', ['-qq', path, '-d', folder], { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
}
