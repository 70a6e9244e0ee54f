/** Cases that the tests of several cloud storages share. */
import { at, call, has, makeFolder, put, rejectsWith } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'

const keep = { ...call(), overwrite: false }
const replace = { ...call(), overwrite: true }

/** For a vendor whose copies and moves cannot replace anything: the host has to do it. */
export async function copiesNeverReplace(provider: StorageProvider): Promise<void> {
  await put(provider, 'file', 'content')
  await put(provider, 'other', 'other')
  await put(provider, 'full/file', 'kept')
  for (const name of ['empty', 'folder']) await makeFolder(provider, name, true)
  for (const method of ['copy', 'move'] as const) {
    const run = (from: string, to: string, options: typeof keep) =>
      Promise.resolve(provider[method]?.(at(from), at(to), options))
    await rejectsWith('NOT_IN_ONE_STEP', run('file', 'other', replace))
    await rejectsWith('NOT_A_FILE', run('file', 'full', replace))
    await rejectsWith('NOT_A_DIRECTORY', run('file', 'other/below', replace))
    await rejectsWith('ALREADY_EXISTS', run('file', 'other', keep))
  }
  const move = (from: string, to: string) => Promise.resolve(provider.move?.(at(from), at(to), replace))
  await rejectsWith('NOT_IN_ONE_STEP', move('folder', 'empty'))
  await rejectsWith('NOT_EMPTY', move('folder', 'full'))
  await rejectsWith('NOT_A_DIRECTORY', move('folder', 'file'))
  await rejectsWith('INVALID_PATH', move('folder', 'folder/inside'))
  await has(provider, 'other', 'other')
}
