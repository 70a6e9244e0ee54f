// @ts-check
/**
 * The adapter for the services of Apache OpenDAL that the operator allows. A configuration enters here and becomes a `Service`;
 * `provider.js` has the methods of the contract, of which `list.js`, `read.js` and `write.js` carry out the longer ones.
 */
/** @import { AdapterDefinition, StoragePath } from 'stowage/adapter' */
import { createHash } from 'node:crypto'
// @ts-expect-error The types leave out `layers`.
import { layers, Operator } from 'opendal'
import { StorageError } from 'stowage/adapter'
import { translated } from './errors.js'
import { OpenDalProvider } from './provider.js'
import { Service } from './service.js'

/** @type {AdapterDefinition<{ service: string, options: string }>} */
export default {
  type: 'opendal',
  apiVersion: 1,
  title: 'Apache OpenDAL (services that the operator allows)',
  configSchema: {
    type: 'object',
    properties: {
      service: {
        type: 'string',
        title: 'Service',
        description: 'The name of a service of OpenDAL, such as webdav, that is in OPENDAL_SERVICES.',
        pattern: '^[a-z0-9-]{1,40}$',
      },
      // Addresses and secrets are one property, so that a person who changes an address enters the secrets again.
      options: {
        type: 'string',
        title: 'Options',
        description: 'The options of the service as a JSON object, such as {"endpoint": "...", "root": "/team"}.',
        maxLength: 16_384,
        writeOnly: true,
      },
    },
    required: ['service', 'options'],
  },
  async open({ service, options }, host) {
    const allowed = (process.env.OPENDAL_SERVICES ?? '').split(',').map(name => name.trim())
    if (!allowed.includes(service)) {
      const message = `The operator does not allow the service "${service}": add it to OPENDAL_SERVICES in the environment of the server.`
      throw new StorageError('INVALID_CONFIG', message)
    }
    const parsed = parseOptions(options)
    const operator = await translated((async () => new Operator(service, parsed))())
    const provider = new OpenDalProvider(
      new Service(service === 'fs' ? operator : retrying(operator), host, storeOf(service, parsed)),
    )
    await provider.list(/** @type {StoragePath} */ (''), { signal: host.signal, limit: 1 })
    host.warn('The connections of OpenDAL do not pass the network guard', { service })
    return provider
  },
}

/** The service `fs` must not be retried, because it reports a path below a file as a temporary error. @param {Operator} operator */
function retrying(operator) {
  const retry = new layers.RetryLayer()
  retry.maxTimes = 3
  return operator.layer(retry.build())
}

/** @param {string} text @returns {Record<string, string>} */
function parseOptions(text) {
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, option]) => [name, String(option)]))
    }
  } catch {}
  throw new StorageError('INVALID_CONFIG', 'The options are not a JSON object, such as {"root": "/team"}.')
}

/** Identifies a service by all options but the folder and the credentials. @param {string} service @param {Record<string, string>} options */
function storeOf(service, { root = '/', ...options }) {
  const isSecret = (/** @type {string} */ name) => /secret|key|token|password|credential|user/.test(name)
  const identifying = Object.entries(options)
    .filter(([name]) => !isSecret(name))
    .toSorted()
  const hash = createHash('sha256').update(JSON.stringify(identifying)).digest('hex').slice(0, 32)
  return `opendal:${service}:${hash}:/${root}/`.replace(/\/+/g, '/')
}
