/**
 * An adapter in the manner of one for SMB, on a folder of this machine, which is the share. As in Windows, `\` separates folders,
 * `:` names a stream, dots and spaces at the end of a name are dropped, and devices exist in every folder.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Facts, PlainFiles } from '../../adapters/bases/plain/files.ts'
import { openPlainProvider } from '../../adapters/bases/plain/provider.ts'
import {
  type AdapterDefinition,
  childOf,
  StorageError,
  type StoragePath,
  windowsNames,
} from '../../adapters/contract.ts'

const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** Returns the names from the share on to which Windows resolves a path. */
function resolved(path: string): string[] {
  const names: string[] = []
  for (const name of path.split(/[\\/]/)) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push((name.split(':', 1)[0] ?? '').replace(/[. ]+$/, ''))
  }
  return names
}

function smbFiles(share: string, folder: string, traits: PlainFiles['traits']): PlainFiles {
  const at = (path: StoragePath) => join(share, ...resolved(`${folder}\\${path}`))
  const run = <T>(work: Promise<T>): Promise<T> =>
    work.catch(cause => {
      const code = cause.code === 'ENAMETOOLONG' ? 'INVALID_PATH' : 'PERMISSION_DENIED'
      throw new StorageError(code, 'The server refuses this.', { cause })
    })
  const find = async (path: StoragePath): Promise<Facts | null> => {
    if (resolved(path).some(name => device.test(name))) return { kind: 'file', size: 0, modifiedAt: null }
    const found = await stat(at(path)).catch(() => null)
    const isFolder = found?.isDirectory() ?? false
    return (
      found && { kind: isFolder ? 'directory' : 'file', size: isFolder ? null : found.size, modifiedAt: found.mtime }
    )
  }
  return {
    traits,
    idOf: path => `smb:${at(path)}`,
    find,
    async list(path) {
      const names = await run(readdir(at(path)))
      const found = names.map(async name => ({ name, ...(await find(childOf(path, name))) }))
      return (await Promise.all(found)).filter((facts): facts is Facts & { name: string } => 'kind' in facts)
    },
    async *receive(path, { start, signal }) {
      const file = await open(at(path)).catch(cause => {
        // Another request has moved the file since its facts were read.
        if (cause.code === 'ENOENT') throw new StorageError('NOT_FOUND', 'There is no such file.', { cause })
        throw cause
      })
      yield* file.createReadStream({ start, signal })
    },
    store: (path, body, { signal }) => run(pipeline(body, createWriteStream(at(path), { flags: 'wx' }), { signal })),
    rename: (from, to) => run(rename(at(from), at(to))),
    makeFolder: path => run(mkdir(at(path))),
    removeFile: path => run(unlink(at(path))),
    removeFolder: path => run(rmdir(at(path))),
    close() {},
  }
}

/** @param traits what an author has set */
export function smbAdapter(
  traits: PlainFiles['traits'] = windowsNames,
): AdapterDefinition<{ share: string; folder: string }> {
  return {
    type: 'smb-like',
    apiVersion: 1,
    title: 'A Windows share',
    configSchema: {
      type: 'object',
      properties: { share: { type: 'string' }, folder: { type: 'string' } },
      required: ['share', 'folder'],
    },
    open: ({ share, folder }, host) => openPlainProvider(smbFiles(share, folder, traits), host),
  }
}
