import type { StorageProvider } from '../../adapters/contract.ts'
import { nameRules } from '../../adapters/name-rules.ts'
import { trashFolder } from '../auth/path.ts'
import { fault } from './validate-entry.ts'

const requiredMethods = ['stat', 'list', 'read', 'write', 'delete', 'mkdir'] as const
const optionalMethods = [
  'deleteTree',
  'openFile',
  'readSmall',
  'copy',
  'copySmall',
  'move',
  'quota',
  'presign',
  'close',
] as const
const storedChecksums: ReadonlySet<unknown> = new Set(['md5', 'sha1', 'sha256'])
const resumableMethods = ['begin', 'append', 'complete', 'abort'] as const
const partMethods = ['put', 'complete'] as const
const trashMethods = ['identify', 'put', 'has', 'restore', 'remove'] as const

/** Validates what an adapter's `open` returns, as far as possible without calling it. @throws BACK_END_FAULT */
export function checkProvider(provider: StorageProvider): StorageProvider {
  if (typeof provider !== 'object' || provider === null) throw fault('no provider')
  for (const name of requiredMethods) requireFunction(name, provider[name])
  for (const name of optionalMethods) if (provider[name] !== undefined) requireFunction(name, provider[name])
  const { traits, resumable, trash } = provider
  if (typeof traits?.emptyDirectories !== 'boolean') {
    throw fault('a provider whose traits.emptyDirectories is neither true nor false')
  }
  const { storedChecksum } = traits
  if (storedChecksum !== undefined && !storedChecksums.has(storedChecksum)) {
    throw fault('a provider with an unknown traits.storedChecksum')
  }
  if (traits.keepsModifiedAt !== undefined && typeof traits.keepsModifiedAt !== 'boolean') {
    throw fault('a provider whose traits.keepsModifiedAt is neither true nor false')
  }
  if (traits.maxFileSize !== undefined) requireBytes('traits.maxFileSize', traits.maxFileSize)
  for (const name of ['maxReads', 'maxWrites', 'listedTimePrecision'] as const) {
    if (traits[name] !== undefined) requireCount(`traits.${name}`, traits[name])
  }
  if (traits.listOrder !== undefined && traits.listOrder !== 'names' && traits.listOrder !== 'keys') {
    throw fault('a provider with an unknown traits.listOrder')
  }
  for (const name of ['forbiddenInNames', 'forbiddenAtEndOfNames'] as const) {
    if (traits[name] !== undefined && typeof traits[name] !== 'string') {
      throw fault(`a provider whose traits.${name} is not a text`)
    }
  }
  const { reservedNames = [] } = traits
  if (!Array.isArray(reservedNames) || !reservedNames.every(name => typeof name === 'string')) {
    throw fault('a provider whose traits.reservedNames is not a list of texts')
  }
  if (traits.singleLineNames !== undefined && typeof traits.singleLineNames !== 'boolean') {
    throw fault('a provider whose traits.singleLineNames is neither true nor false')
  }
  if (nameRules(traits)?.(trashFolder)) {
    throw fault(`a provider whose traits forbid the name "${trashFolder}", which the host uses`)
  }
  if (resumable !== undefined) {
    requireBytes('resumable.partSize', resumable.partSize)
    if (resumable.maxAppends !== undefined) requireCount('resumable.maxAppends', resumable.maxAppends)
    for (const name of resumableMethods) requireFunction(`resumable.${name}`, resumable[name])
    const { parts } = resumable
    if (parts !== undefined) {
      requireBytes('resumable.parts.minSize', parts.minSize)
      for (const name of partMethods) requireFunction(`resumable.parts.${name}`, parts[name])
    }
  }
  if (trash !== undefined) for (const name of trashMethods) requireFunction(`trash.${name}`, trash[name])
  return provider
}

function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw fault(`a provider whose ${name} is not a function`)
}

function requireBytes(name: string, value: unknown): void {
  if (!Number.isSafeInteger(value) || Number(value) <= 0)
    throw fault(`a provider whose ${name} is not a positive number of bytes`)
}

function requireCount(name: string, value: unknown): void {
  if (!Number.isSafeInteger(value) || Number(value) <= 0)
    throw fault(`a provider whose ${name} is not a positive number`)
}
