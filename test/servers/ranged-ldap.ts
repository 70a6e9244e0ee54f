/** A directory that sends the values of `member` in ranges, as Active Directory does, in front of a real one: slapd cannot. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Attribute, BerReader, BerWriter, Client, PresenceFilter, SearchRequest } from 'ldapts'
import type { Test } from 'tap'
import type { LdapDirectory } from './slapd.ts'

/** RFC 4511, section 4: the tags of messages. */
const tags = { search: 0x63, entry: 0x64, done: 0x65 } as const
/** The scope of a search for one entry. */
const baseScope = 0

export interface RangedDirectory {
  port: number
  /** The ranges of values that were sent. */
  sent: string[]
}

/** @param size values in one answer: 1500 in Active Directory */
export async function startRanged(t: Test, behind: LdapDirectory, size: number): Promise<RangedDirectory> {
  const directory: RangedDirectory = { port: 0, sent: [] }

  /** MS-ADTS, section 3.1.1.3.1.3.3. */
  function rangeOf(values: string[], wanted: string): Attribute[] {
    const first = Number(/;range=(\d+)-/.exec(wanted)?.[1] ?? 0)
    if (wanted === 'member' && values.length <= size) return [new Attribute({ type: 'member', values })]
    const last = first + size >= values.length ? '*' : String(first + size - 1)
    const type = `member;range=${first}-${last}`
    directory.sent.push(type)
    const some = new Attribute({ type, values: values.slice(first, first + size) })
    return wanted === 'member' ? [new Attribute({ type: 'member' }), some] : [some]
  }

  /** Returns the answer to a search for the members of a group; null for other messages. */
  async function answerTo(message: Buffer): Promise<Buffer[] | null> {
    const reader = new BerReader(message)
    reader.readSequence()
    const id = reader.readInt() ?? 0
    if (reader.readSequence() !== tags.search) return null
    const start = reader.offset
    reader.readString()
    if (reader.readEnumeration() !== baseScope) return null
    reader.offset = start
    const request = new SearchRequest({ messageId: id, filter: new PresenceFilter({ attribute: 'objectClass' }) })
    request.parseMessage(reader)
    const wanted = request.attributes.find(name => /^member(?:;|$)/.test(name))
    if (wanted === undefined) return null
    const client = new Client({ url: `ldap://127.0.0.1:${behind.port}` })
    await client.bind(behind.bindDn, behind.bindPassword)
    const { searchEntries } = await client.search(request.baseDN, { scope: 'base', attributes: ['member'] })
    await client.unbind()
    const entries = searchEntries.map(({ dn, member = [] }) =>
      write(id, tags.entry, writer => {
        writer.writeString(dn)
        writer.startSequence()
        for (const attribute of rangeOf([member].flat().map(String), wanted)) attribute.write(writer)
        writer.endSequence()
      }),
    )
    const done = write(id, tags.done, writer => {
      writer.writeEnumeration(0)
      writer.writeString('')
      writer.writeString('')
    })
    return [...entries, done]
  }

  async function pass(message: Buffer, client: Socket, upstream: Socket): Promise<void> {
    const answer = await answerTo(message)
    if (answer) client.write(Buffer.concat(answer))
    else upstream.write(message)
  }

  const server = createServer(client => {
    const upstream = connect(behind.port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      socket.on('error', () => {}).on('close', () => [client, upstream].map(each => each.destroy()))
    }
    upstream.pipe(client)
    let waiting = Buffer.alloc(0)
    client.on('data', chunk => {
      waiting = Buffer.concat([waiting, chunk])
      for (;;) {
        const reader = new BerReader(waiting)
        if (reader.readSequence() === null || reader.length > reader.remain) return
        const length = reader.offset + reader.length
        // Stowage sends one request at a time.
        pass(waiting.subarray(0, length), client, upstream).catch(error => client.destroy(error))
        waiting = waiting.subarray(length)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  directory.port = (server.address() as AddressInfo).port
  return directory
}

function write(id: number, tag: number, fill: (writer: BerWriter) => void): Buffer {
  const writer = new BerWriter()
  writer.startSequence()
  writer.writeInt(id)
  writer.startSequence(tag)
  fill(writer)
  writer.endSequence()
  writer.endSequence()
  return writer.buffer
}
