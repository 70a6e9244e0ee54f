/**
 * Enforces the traits about names, in front of an adapter. The host puts this around every provider that it opens, and the
 * conformance kit around every provider that it tests.
 */
import { Readable } from 'node:stream'
import {
  type ListPage,
  type NativeTrash,
  type NativeVersions,
  type ResumableWrites,
  StorageError,
  type StoragePath,
  type StorageProvider,
  segmentsOf,
  type Traits,
} from './contract.ts'

/** The effect of a method on an argument. */
type Use =
  /** A path that is read. With a forbidden name, it is NOT_FOUND. */
  | 'source'
  /** A path that is created. With a forbidden name, it is INVALID_PATH. */
  | 'target'
  /** A path that is deleted. With a forbidden name, it is missing, so the call resolves. */
  | 'deleted'
  /** The path of a link to read a file or to create one. */
  | 'link'
  /** Names of entries that are created. */
  | 'names'
  | 'other'

type MethodOf<T> = {
  [Key in keyof T]-?: NonNullable<T[Key]> extends (...args: never[]) => unknown ? Key : never
}[keyof T]

// The types require a row for every method, so that a new one cannot pass paths without this check.
const uses: Record<MethodOf<StorageProvider>, readonly Use[]> = {
  stat: ['source'],
  list: ['source'],
  read: ['source'],
  openFile: ['source'],
  readSmall: ['source'],
  presign: ['link'],
  write: ['target'],
  mkdir: ['target'],
  delete: ['deleted'],
  deleteTree: ['deleted'],
  copy: ['source', 'target'],
  copySmall: ['source', 'target', 'names'],
  move: ['source', 'target'],
  setModifiedAt: ['source'],
  quota: [],
  rootId: [],
  changes: ['other'],
  close: [],
}
const resumableUses: Record<MethodOf<ResumableWrites>, readonly Use[]> = {
  begin: ['target'],
  append: ['other'],
  complete: ['other'],
  abort: ['other'],
}
const trashUses: Record<MethodOf<NativeTrash>, readonly Use[]> = {
  identify: ['source'],
  put: ['other', 'source'],
  has: ['other'],
  restore: ['other', 'target'],
  remove: ['other'],
}

const versionUses: Record<MethodOf<NativeVersions>, readonly Use[]> = {
  list: ['source'],
  stat: ['source'],
  read: ['source'],
  restore: ['target'],
  remove: ['deleted'],
  deleted: ['source'],
}

/**
 * Returns the provider with calls that pass no path with a name that its traits forbid.
 * @param warn receives a sentence when a listing has such names
 */
export function withNameRules(provider: StorageProvider, warn: (message: string) => void = () => {}): StorageProvider {
  const faultOf = nameRules(provider.traits)
  if (!faultOf) return provider
  const { resumable, trash, versions } = provider
  const list = async (...args: Parameters<StorageProvider['list']>): Promise<ListPage> => {
    const page = await provider.list(...args)
    if (!Array.isArray(page?.entries)) return page
    const entries = page.entries.filter(({ name }) => typeof name !== 'string' || faultOf(name) === null)
    const omitted = page.entries.length - entries.length
    if (omitted > 0) warn(`Omitted from a listing, because the traits of the adapter forbid their names: ${omitted}.`)
    return { ...page, entries }
  }
  return withMethods(provider, {
    ...guarded(withMethods(provider, { list }), uses, faultOf),
    ...(resumable && { resumable: withMethods(resumable, guarded(resumable, resumableUses, faultOf)) }),
    ...(trash && { trash: withMethods(trash, guarded(trash, trashUses, faultOf)) }),
    ...(versions && { versions: withMethods(versions, guarded(versions, versionUses, faultOf)) }),
  })
}

/** Returns the methods of the object that exist, with a check of their arguments. */
function guarded<T extends object>(object: T, uses: Record<MethodOf<T>, readonly Use[]>, faultOf: FaultOf): Partial<T> {
  const methods = Object.entries<readonly Use[]>(uses).flatMap(([name, argumentUses]) => {
    const method: unknown = Reflect.get(object, name)
    if (typeof method !== 'function' || argumentUses.every(use => use === 'other')) return []
    const call = async (...args: unknown[]) => {
      try {
        for (const [index, use] of argumentUses.entries()) if (!isAsked(use, index, args, faultOf)) return
      } catch (error) {
        for (const body of args) if (body instanceof Readable) body.destroy()
        throw error
      }
      return await method.apply(object, args)
    }
    return [[name, call]]
  })
  return Object.fromEntries(methods)
}

/** Returns false if there is nothing to do. @throws NOT_FOUND, INVALID_PATH */
function isAsked(use: Use, index: number, args: readonly unknown[], faultOf: FaultOf): boolean {
  if (use === 'other') return true
  const value = args[index]
  const names = use === 'names' ? (value as readonly string[]) : segmentsOf(value as StoragePath)
  for (const name of names) {
    const fault = faultOf(name)
    if (fault === null) continue
    if (use === 'deleted') return false
    const { method } = (args[index + 1] ?? {}) as { method?: unknown }
    const isRead = use === 'source' || (use === 'link' && method !== 'PUT')
    if (isRead) throw new StorageError('NOT_FOUND', `${fault}, so nothing exists at this path.`)
    throw new StorageError('INVALID_PATH', `${fault}: choose another name.`)
  }
  return true
}

/** Returns why the back end cannot have the name, as a sentence without its end, or null. */
export type FaultOf = (name: string) => string | null

/** Returns null for traits that forbid no names. */
export function nameRules(traits: Traits): FaultOf | null {
  const { forbiddenInNames = '', forbiddenAtEndOfNames = '', reservedNames = [], singleLineNames = false } = traits
  const inside = new Set(singleLineNames ? `${forbiddenInNames}\r\n` : forbiddenInNames)
  const atEnd = new Set(forbiddenAtEndOfNames)
  const reserved = new Set(reservedNames.map(folded))
  if (inside.size + atEnd.size + reserved.size === 0) return null
  return name => {
    let last = ''
    for (const character of name) {
      if (inside.has(character)) return `This storage cannot have names that contain ${shown(character)}`
      last = character
    }
    if (atEnd.has(last)) return `This storage cannot have names that end with ${shown(last)}`
    const foldedName = folded(name)
    if (reserved.has(foldedName)) return `This storage reserves the name "${name}"`
    // Windows ignores spaces between such a name and its extension.
    const stem = (foldedName.split('.', 1)[0] ?? '').trimEnd()
    return reserved.has(`${stem}.*`) ? `This storage reserves the name "${stem}", with any extension` : null
  }
}

/** Some letters are equal only as capitals, such as "s" and the long "ſ". */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase()
}

function shown(character: string): string {
  if (character === ' ') return 'a space'
  if (character === '\r' || character === '\n') return 'a line break'
  if (!/[\p{C}\p{Z}]/u.test(character)) return `"${character}"`
  return `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Returns the object with other methods. The methods of a class keep their own `this`. */
export function withMethods<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      if (name in methods) return Reflect.get(methods, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
