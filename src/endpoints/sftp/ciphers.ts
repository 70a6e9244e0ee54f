/** Lets `ssh2` take less time for each packet. What it does without these changes is the same, so none of them is required. */
import { createSecretKey, type KeyObject, randomFillSync } from 'node:crypto'
import type { Connection } from 'ssh2'
import { PacketReader } from './wire.ts'

/** RFC 4253, section 7.1: the type of the packet, and the bytes before its lists. */
const kexInit = 20
const beforeLists = 17
/** Bytes of a list of algorithms. */
const maxList = 8192
const headerBytes = 5
const minPadding = 4

type Key = Uint8Array | KeyObject

interface Cipher {
  encrypt(packet: Buffer): void
  allocPacket(payload: number): Buffer
  /** Of AES-GCM. */
  _encKey?: Key
  /** Of a cipher with a MAC. */
  _macKey?: Key
  _encBlockLen?: number
  _aadLen?: number
}

interface Decipher {
  _onPayload(payload: Buffer): unknown
  _decipherKey?: Key
  _macKey?: Key
}

interface Names {
  array: string[]
}

interface Direction {
  cipher: Names
  mac: Names
  compress: Names
  lang: Names
}

type Lists<Of, In> = { kex: Of; serverHostKey: Of; cs: In; sc: In }

interface Offer {
  lists: Lists<Names, Direction>
  constructor: new (lists: Lists<string[], Record<keyof Direction, string[]>>) => Offer
}

interface Ciphers {
  _cipher: Cipher
  _decipher: Decipher
  _offer: Offer
  _kexinit: Buffer | undefined
  rekey(): void
}

/** Call this before the key exchange. @param software the name and version of the client */
export function speedUp(client: Connection, software: string): void {
  const { _protocol: protocol } = client as Connection & { _protocol?: Partial<Ciphers> }
  if (!protocol?._cipher || !protocol._decipher || !protocol._offer || !protocol.rekey) return
  const ciphers = protocol as Ciphers
  // Up to version 9.9, it asks for AES-CTR before AES-GCM, which takes four times as long. It never waits for the list of the server.
  if (software.startsWith('OpenSSH_')) offerLate(ciphers)
  client.on('handshake', () => {
    keepKeys(ciphers)
    pad(ciphers._cipher)
  })
}

/** Sends the list of algorithms after that of the client, and without AES-CTR if the client knows AES-GCM. */
function offerLate(protocol: Ciphers): void {
  const { _cipher: cipher, _decipher: decipher } = protocol
  const { encrypt } = cipher
  // The list that `ssh2` is about to send does not leave.
  cipher.encrypt = () => {
    cipher.encrypt = encrypt
  }
  const onPayload = decipher._onPayload
  decipher._onPayload = payload => {
    decipher._onPayload = onPayload
    if (knowsGcm(payload)) protocol._offer = onlyGcm(protocol._offer)
    protocol._kexinit = undefined
    protocol.rekey()
    return onPayload(payload)
  }
}

const isGcm = (cipher: string) => cipher.includes('-gcm@')

/** Whether a client offers AES-GCM in both directions. */
function knowsGcm(payload: Buffer): boolean {
  if (payload[0] !== kexInit) return false
  try {
    const lists = new PacketReader(payload.subarray(beforeLists))
    const [, , ...ciphers] = Array.from({ length: 4 }, () => lists.bytes(maxList).toString('latin1'))
    return ciphers.every(list => list.split(',').some(isGcm))
  } catch {
    // `ssh2` reads the packet as well, and ends the connection.
    return false
  }
}

/** By the offers of the servers of this process. */
const gcmOffers = new WeakMap<Offer, Offer>()

function onlyGcm(offer: Offer): Offer {
  const known = gcmOffers.get(offer)
  if (known) return known
  const { kex, serverHostKey, cs, sc } = offer.lists
  const narrow = ({ cipher, mac, compress, lang }: Direction) => ({
    cipher: cipher.array.filter(isGcm),
    mac: mac.array,
    compress: compress.array,
    lang: lang.array,
  })
  const lists = { kex: kex.array, serverHostKey: serverHostKey.array, cs: narrow(cs), sc: narrow(sc) }
  const made = new offer.constructor(lists)
  gcmOffers.set(offer, made)
  return made
}

/** Node imports a key of bytes anew for each packet, which takes five times as long as the digest of a small one. */
function keepKeys({ _cipher: cipher, _decipher: decipher }: Ciphers): void {
  const kept = (key: Key) => (key instanceof Uint8Array ? createSecretKey(key) : key)
  if (cipher._encKey) cipher._encKey = kept(cipher._encKey)
  if (cipher._macKey) cipher._macKey = kept(cipher._macKey)
  if (decipher._decipherKey) decipher._decipherKey = kept(decipher._decipherKey)
  if (decipher._macKey) decipher._macKey = kept(decipher._macKey)
}

/** Random bytes that are not used yet. Getting those of each packet alone takes 4 µs. */
const random = Buffer.alloc(4096)
let randomAt = random.length

/** Allocates packets as `ssh2` does (RFC 4253, section 6), with padding from the random bytes at hand. */
function pad(cipher: Cipher): void {
  // The machine code of `ssh2`, if somebody has built it, needs other packets.
  if ('_instance' in cipher) return
  // AES-GCM and the MACs of packets that are encrypted before leave the length out.
  const { _encBlockLen: block = 16, _aadLen: outside = 4 } = cipher
  cipher.allocPacket = payload => {
    const rest = block - ((headerBytes + payload - outside) & (block - 1))
    const padding = rest < minPadding ? rest + block : rest
    const packet = Buffer.allocUnsafe(headerBytes + payload + padding)
    packet.writeUInt32BE(packet.length - 4, 0)
    packet[4] = padding
    if (randomAt + padding > random.length) {
      randomFillSync(random)
      randomAt = 0
    }
    random.copy(packet, headerBytes + payload, randomAt, randomAt + padding)
    randomAt += padding
    return packet
  }
}
