/** An authenticator in software: passkeys of ES256 with attestation "none", as browsers answer with them. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

const flags = { present: 0x01, verified: 0x04, attested: 0x40 }
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()

export interface Ceremony {
  origin: string
  /** The host that the browser hashes into the answer. */
  rpId: string
  /** Whether the user was verified. */
  isVerified: boolean
}

export class Authenticator {
  readonly id = randomBytes(32)
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject
  counter = 0

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#privateKey = privateKey
    this.#publicKey = publicKey
  }

  /** Answers `navigator.credentials.create`. */
  create({ challenge }: { challenge: string }, at: Ceremony) {
    const { x = '', y = '' } = this.#publicKey.export({ format: 'jwk' })
    // COSE: {1: 2, 3: -7, -1: 1, -2: x, -3: y}
    const key = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y, 'base64url'),
    ])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.id.length)
    const data = Buffer.concat([this.#data(at, flags.attested), Buffer.alloc(16), length, this.id, key])
    const size = Buffer.alloc(2)
    size.writeUInt16BE(data.length)
    // CBOR: {"fmt": "none", "attStmt": {}, "authData": data}
    const attestationObject = Buffer.concat([
      Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
      size,
      data,
    ])
    const clientDataJSON = this.#clientData('webauthn.create', challenge, at)
    const response = {
      attestationObject: attestationObject.toString('base64url'),
      clientDataJSON: clientDataJSON.toString('base64url'),
      transports: ['internal'],
    }
    return this.#answer(response)
  }

  /** Answers `navigator.credentials.get`. */
  get({ challenge }: { challenge: string }, at: Ceremony) {
    this.counter += 1
    const data = this.#data(at, 0)
    const clientDataJSON = this.#clientData('webauthn.get', challenge, at)
    const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), this.#privateKey)
    return this.#answer({
      authenticatorData: data.toString('base64url'),
      clientDataJSON: clientDataJSON.toString('base64url'),
      signature: signature.toString('base64url'),
      userHandle: null,
    })
  }

  #answer<Response extends object>(response: Response) {
    const id = this.id.toString('base64url')
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
  }

  #data({ rpId, isVerified }: Ceremony, more: number): Buffer {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(this.counter)
    const flag = flags.present | (isVerified ? flags.verified : 0) | more
    return Buffer.concat([sha256(rpId), Buffer.from([flag]), counter])
  }

  #clientData(type: string, challenge: string, { origin }: Ceremony): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  }
}
