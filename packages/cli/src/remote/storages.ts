import { CommandError, notFound } from '../errors.ts'
import { exitCodes } from '../exit-code.ts'

/** A provider of the API. */
export interface Storage {
  id: string
  name: string
  status: string
  type: { type: string }
}

/** Finds a storage by its name or its ID. @throws CommandError if there is none, or several have the name */
export function findStorage(storages: readonly Storage[], text: string): Storage {
  const identified = storages.find(({ id }) => id === text)
  if (identified) return identified
  const [found, ...others] = storages.filter(({ name }) => name === text)
  if (!found) throw notFound(`There is no storage "${text}". "stowage ls" lists the storages.`)
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id, type }) => `${id}: (${type.type})`).join(', ')
  const message = `Several storages have the name "${text}". Write the ID instead: ${ids}.`
  throw new CommandError(message, 'AMBIGUOUS_STORAGE', exitCodes.usage.code)
}
