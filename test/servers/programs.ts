import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Needed {
  /** What the tests are about: "The tests of S3". */
  who: string
  programs: readonly string[]
  /** Debian packages that have them, but for the tools. */
  packages: readonly string[]
  /** What else would do: "put ... on PATH". */
  instead: string
}

/**
 * Several runs may start at once on a fresh machine: the first one to get the lock installs, the others find it done. The
 * lock is on a folder that is there anyway, and not the lock that dpkg itself takes.
 */
const install = ({ programs, packages }: Needed) => `flock /var/lib/dpkg sh -c '
  ${programs.map(program => `command -v ${program}`).join(' && ')} && exit 0
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=120 -q update
  apt-get -o DPkg::Lock::Timeout=120 -qy install --no-install-recommends ${packages.join(' ')}'`

/** Installs what is missing, for root on Debian. @throws where they are neither there nor can be installed */
export async function requirePrograms(needed: Needed): Promise<void> {
  const haveAll = async () => (await Promise.all(needed.programs.map(findProgram))).every(found => found !== null)
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
    `${needed.who} need ${needed.programs.join(', ')}, and ${reason}: ${needed.instead}, or run as root on Debian.`,
  )
}

/** Where it is on PATH. */
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
