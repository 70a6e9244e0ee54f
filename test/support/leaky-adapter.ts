/** An external adapter that leaks its password. Each file name selects another way to leak it. */
import { setTimeout as later } from 'node:timers'
import type { AdapterDefinition, StorageProvider } from '../../adapters/contract.ts'

interface Config {
  password: string
}

const adapter: AdapterDefinition<Config> = {
  type: 'leaky',
  apiVersion: 1,
  title: 'Leaky',
  configSchema: {
    type: 'object',
    properties: { password: { type: 'string', writeOnly: true } },
    required: ['password'],
  },
  async open(config, host) {
    const { password } = config
    const request = { headers: { authorization: `Basic ${Buffer.from(`user:${password}`).toString('base64')}` } }
    const careless = Object.assign(new Error(`Cannot log in with "${password}"`), { config, request })
    const tell: Record<string, () => unknown> = {
      warn() {
        host.warn(`Slow for ${password}`, { config, request, error: careless, list: [{ careless }] })
      },
      throw() {
        throw careless
      },
      cause() {
        throw new TypeError('Failed', { cause: careless })
      },
      object() {
        throw { config }
      },
      text() {
        throw password
      },
      encoded() {
        throw new Error(`GET https://storage.example/?key=${encodeURIComponent(password)} ${JSON.stringify(config)}`)
      },
      crash() {
        later(() => {
          throw careless
        }, 1)
      },
    }
    const refuse = async () => {
      throw careless
    }
    const provider: StorageProvider = {
      traits: { emptyDirectories: true },
      async stat(path) {
        tell[path]?.()
        return {
          name: '',
          kind: path === '' ? 'directory' : 'file',
          size: 0,
          modifiedAt: null,
          etag: null,
          mimeType: null,
        }
      },
      list: async () => ({ entries: [] }),
      read: refuse,
      async write(_path, body) {
        body.destroy()
        return refuse()
      },
      delete: refuse,
      mkdir: refuse,
      close: refuse,
    }
    return provider
  },
}

export default adapter
