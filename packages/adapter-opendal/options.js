// @ts-check
import { createHash } from 'node:crypto'
import { StorageError } from 'stowage/adapter'

/** @param {string} text @returns {Record<string, string>} */
export function parseOptions(text) {
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, option]) => [name, String(option)]))
    }
  } catch {}
  throw new StorageError('INVALID_CONFIG', 'The options are not a JSON object, such as {"root": "/team"}.')
}

/** Identifies a service by all options but the folder and the credentials. @param {string} service @param {Record<string, string>} options */
export function storeOf(service, { root = '/', ...options }) {
  const isSecret = (/** @type {string} */ name) => /secret|key|token|password|credential|user/.test(name)
  const known = Object.entries(options)
    .filter(([name]) => !isSecret(name))
    .toSorted()
  const hash = createHash('sha256').update(JSON.stringify(known)).digest('hex').slice(0, 32)
  return `opendal:${service}:${hash}:/${root}/`.replace(/\/+/g, '/')
}
