/** A server that preloads this hashes no contents: each SHA-256 ends after 4 KiB, which are more than a credential has. */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const most = 4096
const { createHash } = crypto

crypto.createHash = (name, options) => {
  const hash = createHash(name, options)
  if (name !== 'sha256') return hash
  const update = hash.update.bind(hash)
  let bytes = 0
  hash.update = (data, encoding) => {
    bytes += data.length
    if (bytes <= most) update(data, encoding)
    return hash
  }
  return hash
}
syncBuiltinESMExports()
