import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** From the Debian packages of these names, but for the tools. */
const programs = ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool', 'radosgw-admin']
const packages = 'radosgw ceph-mon ceph-osd ceph-common'

/**
 * Several runs may start at once on a fresh machine: the first one to get the lock installs, the others find it done. The
 * lock is on a folder that is there anyway, and not the lock that dpkg itself takes.
 */
const install = `flock /var/lib/dpkg sh -c '
  command -v radosgw && command -v ceph-mon && command -v ceph-osd && command -v ceph && exit 0
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=120 -q update
  apt-get -o DPkg::Lock::Timeout=120 -qy install --no-install-recommends ${packages}'`

/** @throws where they are neither there nor can be installed */
export async function requirePrograms(): Promise<void> {
  if (await haveAll()) return
  let reason = 'apt-get can install them only for root, on Debian'
  if (process.getuid?.() === 0 && (await find('apt-get'))) {
    const failure = await run('sh', ['-c', install], { maxBuffer: 64 * 1024 * 1024 }).catch(error => error)
    if (await haveAll()) return
    reason = `apt-get did not install them (${String(failure.stderr ?? failure)
      .trim()
      .split('\n')
      .at(-1)})`
  }
  throw new Error(
    `The tests of S3 need a server, and ${reason}: name one with TEST_S3_ENDPOINT, TEST_S3_ACCESS_KEY_ID and ` +
      `TEST_S3_SECRET_ACCESS_KEY, or put Ceph's ${programs.join(', ')} on PATH, or run as root on Debian.`,
  )
}

async function haveAll(): Promise<boolean> {
  return (await Promise.all(programs.map(find))).every(found => found)
}

async function find(program: string): Promise<boolean> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return true
  }
  return false
}
