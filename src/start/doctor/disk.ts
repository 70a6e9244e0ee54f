import { access, constants, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '../../settings/index.ts'
import { isOpenToOthers } from '../data-folder.ts'
import { secretFile } from '../secret-file.ts'
import { type Finding, messageOf, ok, problem, warning } from './finding.ts'

const gib = 1024 ** 3
/** Bytes and part of the disk below which its space is short. */
const least = { bytes: gib, part: 0.05 }

/** Checks the folders that the server writes to. */
export async function checkDisks({ dataFolder, localRoots, databaseUrl, secret }: Settings): Promise<Finding[]> {
  const needsData = databaseUrl === null || secret === null
  const folders = await Promise.all([
    ...(needsData ? [checkFolder('Data folder', dataFolder)] : []),
    ...localRoots.map(root => checkFolder('Local files', root)),
  ])
  return [...folders, ...(needsData ? await checkModes(dataFolder) : [])]
}

async function checkFolder(subject: string, folder: string): Promise<Finding> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const { bsize, blocks, bavail } = await statfs(folder)
    const [free, size] = [bavail * bsize, blocks * bsize]
    const text = `${folder} has ${(free / gib).toFixed(1)} GiB free.`
    return free < least.bytes || free < size * least.part
      ? warning(subject, `${text} Free some space, or uploads and the database will fail.`)
      : ok(subject, text)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT') return warning(subject, `${folder} does not exist: create it, or start the server once.`)
    return problem(subject, `${messageOf(error)} Let the user of the server read and write this folder.`)
  }
}

async function checkModes(dataFolder: string): Promise<Finding[]> {
  const file = join(dataFolder, secretFile)
  const mode = (await stat(file).catch(() => null))?.mode ?? 0
  return [
    ...((await isOpenToOthers(dataFolder))
      ? [warning('Data folder', `Other users can read the files in ${dataFolder}: run "chmod 700 ${dataFolder}".`)]
      : []),
    ...((mode & 0o077) !== 0 ? [problem('Secret', `Other users can read ${file}: run "chmod 600 ${file}".`)] : []),
  ]
}
