import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Needed {
  /** The subject of messages: "The tests of S3". */
  who: string
  programs: readonly string[]
  /** Files that must exist, such as modules of a program. */
  files?: readonly string[]
  /** The Debian packages of the programs. */
  packages: readonly string[]
  /** The alternative for messages: "put ... on PATH". */
  instead: string
}

/**
 * The lock of the installation. Several runs may start at once on a new machine: the first one installs, the others wait. The
 * lock is on a folder that always exists, and is not dpkg's own lock.
 */
const install = ({ programs, files = [], packages }: Needed) => `flock /var/lib/dpkg sh -c '
  ${[...programs.map(program => `command -v ${program}`), ...files.map(file => `test -e ${file}`)].join(' && ')} && exit 0
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=120 -q update
  apt-get -o DPkg::Lock::Timeout=120 -qy install --no-install-recommends ${packages.join(' ')}'`

/** Installs missing programs, for root on Debian. @throws where they cannot be installed */
export async function requirePrograms(needed: Needed): Promise<void> {
  const { programs, files = [] } = needed
  const haveAll = async () =>
    (await Promise.all([...programs.map(findProgram), ...files.map(findFile)])).every(found => found !== null)
  if (await haveAll()) return
  let reason = 'apt-get can install them only for root, on Debian'
  if (process.getuid?.() === 0 && (await findProgram('apt-get'))) {
    const failure = await run('sh', ['-c', install(needed)], { maxBuffer: 64 * 1024 * 1024 }).catch(error => error)
    if (await haveAll()) return
    reason = `apt-get did not install them (${String(failure.stderr ?? failure)
      .trim()
      .split('\n')
      .at(-1)})`
  }
  throw new Error(
    `${needed.who} need ${[...programs, ...files].join(', ')}, and ${reason}: ${needed.instead}, or run as root on Debian.`,
  )
}

async function findFile(path: string): Promise<string | null> {
  return await access(path).then(
    () => path,
    () => null,
  )
}

/** Returns the path of a program on PATH. */
export async function findProgram(program: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program)
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return null
}
