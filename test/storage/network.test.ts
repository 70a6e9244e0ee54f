/** Outgoing connections: no spelling, name, redirect or DNS change leads to a closed address. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import { get as getTls } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Network, TlsOptions } from '../../adapters/contract.ts'
import { closedAddresses } from '../../src/storage/network/guard.ts'
import { createNetwork, isClosedAddress } from '../../src/storage/network/index.ts'
import { certificate } from '../servers/certificate.ts'

const without = { signal: new AbortController().signal }

const getRequest = { method: 'GET', headers: {}, timeout: 5000 }

/** All ways to send a request. Each resolves with the status. */
const ways: Record<string, (network: Network, url: URL) => Promise<number>> = {
  httpAgent: (network, url) => ask(done => get(url, { agent: network.httpAgent() }, done)),
  httpsAgent: (network, { href }) =>
    ask(done => getTls(href.replace('http:', 'https:'), { agent: network.httpsAgent() }, done)),
  fetch: async (network, url) => {
    const answer = await network.fetch(url)
    await answer.body?.cancel()
    return answer.status
  },
  request: (network, url) =>
    ask(done =>
      network
        .request(url, { ...getRequest, agent: network.httpAgent() })
        .on('response', done)
        .end(),
    ),
  'request over TLS': (network, { href }) => {
    const url = new URL(href.replace('http:', 'https:'))
    return ask(done =>
      network
        .request(url, { ...getRequest, agent: network.httpsAgent() })
        .on('response', done)
        .end(),
    )
  },
  connect: async (network, { hostname, port }) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = await network.connect({ host, port: Number(port || 80), ...without })
    socket.end('GET / HTTP/1.1\r\nHost: storage.example\r\nConnection: close\r\n\r\n')
    return Number((await text(socket)).split(' ')[1])
  },
  relay: async (network, { hostname, port }) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const relay = await network.relay({ host, port: Number(port || 80), ...without })
    try {
      return (await fetch(`http://${relay.host}:${relay.port}`, { headers: { connection: 'close' } })).status
    } finally {
      relay.close()
    }
  },
  'connect with TLS': async (network, { hostname, port }) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = await network.connect({ host, port: Number(port || 443), tls: {}, ...without })
    socket.destroy()
    return 200
  },
}

const plainWays = ['httpAgent', 'fetch', 'request', 'connect', 'relay']

function ask(send: (done: (answer: IncomingMessage) => void) => ReturnType<typeof get>): Promise<number> {
  return new Promise((resolve, reject) => {
    send(answer => answer.resume().on('end', () => resolve(answer.statusCode ?? 0))).on('error', reject)
  })
}

async function isRefused(network: Network, url: URL, way: keyof typeof ways): Promise<boolean> {
  return await (ways[way]?.(network, url) ?? Promise.reject()).then(() => false, isClosedAddress)
}

/** Starts a server on every loopback address. `visited` lists the addresses that received a connection, even without data. */
async function listen(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const visited: (string | undefined)[] = []
  const server = createServer(answer)
  server.on('connection', socket => visited.push(socket.localAddress))
  await once(server.listen(0, '0.0.0.0'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { visited, port, at: (host: string) => new URL(`http://${host}:${port}/`) }
}

const closedV4 = fc.oneof(
  fc.tuple(fc.constant(169), fc.constant(254), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constant(0), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.integer({ min: 224, max: 255 }), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.constantFrom<[number, number, number, number]>(
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [255, 255, 255, 255],
    [0, 0, 0, 0],
  ),
)
type V4 = [number, number, number, number]

const number32 = ([a, b, c, d]: V4) => ((a * 256 + b) * 256 + c) * 256 + d
const pairs = ([a, b, c, d]: V4) => `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
const octal = (value: number) => `0${value.toString(8)}`
const hex = (value: number) => `0x${value.toString(16)}`

/** Spellings that a configuration can contain: https://url.spec.whatwg.org/#concept-ipv4-parser, RFC 4291, 6052, 3056. */
const spellings: Record<string, (address: V4) => string> = {
  dotted: address => address.join('.'),
  'with a dot at its end': address => `${address.join('.')}.`,
  decimal: address => `${number32(address)}`,
  hexadecimal: address => hex(number32(address)),
  octal: address => octal(number32(address)),
  'hexadecimal parts': address => address.map(hex).join('.'),
  'octal parts': address => address.map(octal).join('.'),
  'three parts': ([a, b, c, d]) => `${a}.${hex(b)}.${c * 256 + d}`,
  'two parts': ([a, ...rest]) => `${octal(a)}.${number32([0, ...rest])}`,
  'percent-encoded': address => address.join('%2e').replace('1', '%31'),
  'full-width digits': address =>
    address.join('。').replace(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
  mapped: address => `[::ffff:${address.join('.')}]`,
  'mapped, in hexadecimal': address => `[0:0:0:0:0:FFFF:${pairs(address)}]`,
  'IPv4-translated': address => `[::ffff:0:${pairs(address)}]`,
  NAT64: address => `[64:ff9b::${address.join('.')}]`,
  'local NAT64': address => `[64:ff9b:1::${pairs(address)}]`,
  '6to4': address => `[2002:${pairs(address)}::1]`,
}

t.test('every way to connect refuses closed IPv4 addresses in any spelling', async t => {
  const network = createNetwork()
  for (const [name, spell] of Object.entries(spellings)) {
    await fc.assert(
      fc.asyncProperty(closedV4, fc.constantFrom(...Object.keys(ways)), (address, way) =>
        isRefused(network, new URL(`http://${spell(address)}:8080/`), way),
      ),
      { numRuns: 40 },
    )
    t.pass(name)
  }
})

t.test('a relay leads each of its clients to the server, both ways, until it is closed', async t => {
  let greeted = 0
  const server = createTcpServer({ allowHalfOpen: true }, socket => {
    greeted += 1
    socket.write(`hello ${greeted} `)
    socket.on('error', () => {}).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const relay = await createNetwork().relay({ host: '127.0.0.1', port, ...without })
  t.teardown(() => relay.close())
  t.match(relay, { host: '127.0.0.1', failure: undefined })
  const say = async (words: string) => {
    const socket = connectTcp(relay.port, relay.host)
    socket.end(words)
    return await text(socket)
  }
  const long = 'x'.repeat(1_000_000)
  t.equal(await say('first'), 'hello 1 first', 'the connection that was opened at once is used')
  t.same(await Promise.all([say('a'), say(long)]).then(said => said.map(each => each.slice(8))), ['a', long])

  const open = connectTcp(relay.port, relay.host)
  await once(open, 'data')
  server.close()
  t.equal(await say('too late').catch(({ code }) => code === 'ECONNRESET' && ''), '')
  t.match(relay.failure, { code: 'ECONNREFUSED' })
  relay.close()
  await once(open, 'close')
  const [error] = await once(connectTcp(relay.port, relay.host), 'error')
  t.equal(error.code, 'ECONNREFUSED')
})

t.test('closed IPv6 addresses are refused', async t => {
  const network = createNetwork()
  const hosts = [
    '::',
    'fe80::1',
    'febf:ffff::1',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
    'ff02::1',
  ]
  for (const host of hosts) {
    for (const way of Object.keys(ways))
      t.ok(await isRefused(network, new URL(`http://[${host}]/`), way), `${host} ${way}`)
  }
  const closed = closedAddresses()
  t.ok(closed.includes('fe80::1%eth0'), 'an address with a zone, as DNS may return it')
  t.ok(closed.includes('no address'))
})

t.test('private, loopback and public addresses are open by default', async t => {
  const closed = closedAddresses()
  const open = [
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.1.2.3',
    '172.17.0.2',
    '192.168.1.1',
    'fd12:3456::1',
    '100.64.0.1',
  ]
  const outside = [
    '169.253.255.255',
    '169.255.0.0',
    '168.63.129.17',
    '1.0.0.0',
    '223.255.255.255',
    '2001:db8::1',
    '2002:a9ff::',
  ]
  for (const address of [...open, ...outside]) t.notOk(closed.includes(address), address)
  const { at, visited } = await listen(t, (_, response) => response.end('here'))
  for (const way of plainWays) {
    t.equal(await ways[way]?.(createNetwork(), at('127.0.0.1')), 200)
    t.equal(await ways[way]?.(createNetwork(), at('localhost')), 200, "through the system's resolver")
  }
  t.equal(visited.length, 2 * plainWays.length)
})

t.test('the operator can open and close networks', async t => {
  const closed = closedAddresses({
    allow: ['169.254.10.0/24', 'fe80::/64', '10.1.1.1'],
    deny: ['10.0.0.0/8', '127.0.0.0/8', '::1', 'fc00::/7'],
  })
  const expected: Record<string, boolean> = {
    '169.254.10.7': false,
    '::ffff:169.254.10.7': false,
    '64:ff9b::169.254.10.7': false,
    '169.254.11.7': true,
    'fe80::1': false,
    'fe80:0:0:1::1': true,
    '10.1.1.1': false,
    '10.1.1.2': true,
    '::ffff:10.1.1.2': true,
    '2002:0a01:0102::': true,
    '127.8.8.8': true,
    '::1': true,
    'fd12::1': true,
    '192.168.0.1': false,
  }
  for (const [address, is] of Object.entries(expected)) t.equal(closed.includes(address), is, address)
})

t.test('a DNS name that changes between two lookups cannot bypass the check', async t => {
  const { at, visited } = await listen(t, (_, response) => response.setHeader('connection', 'close').end())
  const answers: Record<string, string[]>[] = []
  for (const way of plainWays) {
    let looks = 0
    const script: string[][] = [
      ['127.0.0.1'],
      ['127.0.0.2'],
      ['127.0.0.1', '127.0.0.2'],
      ['127.0.0.2', '127.0.0.1'],
      [],
    ]
    const network = createNetwork({
      deny: ['127.0.0.2'],
      resolve: (_name, { all }, callback) => {
        t.equal(all, true)
        const addresses = script[looks++] ?? []
        callback(
          null,
          addresses.map(address => ({ address, family: 4 })),
        )
      },
    })
    const url = at('storage.example')
    const results: unknown[] = []
    for (const _ of script) results.push(await ways[way]?.(network, url).catch(isClosedAddress))
    t.strictSame(results, [200, true, 200, 200, true], way)
    t.equal(looks, script.length, 'each connection has one lookup, whose address is checked and used')
    answers.push({ [way]: visited.splice(0).map(String) })
  }
  t.strictSame(
    answers,
    plainWays.map(way => ({ [way]: Array(3).fill('127.0.0.1') })),
  )
})

t.test('names are checked for TLS connections, too', async t => {
  const { at, visited } = await listen(t, () => {})
  const resolve = (address: string) =>
    createNetwork({ deny: ['127.0.0.2'], resolve: (_n, _o, callback) => callback(null, [{ address, family: 4 }]) })
  for (const way of ['httpsAgent', 'fetch', 'connect with TLS']) {
    const url = new URL(at('storage.example').href.replace('http:', 'https:'))
    t.ok(await isRefused(resolve('127.0.0.2'), url, way))
    t.strictSame(visited, [])
    t.notOk(await isRefused(resolve('127.0.0.1'), url, way))
    t.strictSame(visited.splice(0), ['127.0.0.1'], 'the open address got a connection, which is not TLS')
  }
})

t.test('a redirect to a closed address is refused', async t => {
  const { at, visited, port } = await listen(t, (request, response) => {
    const [, host, status] = (request.url ?? '').split('/')
    response.writeHead(host ? Number(status) : 200, host ? { location: `http://${host}:${port}/` } : {}).end()
  })
  const network = createNetwork({ deny: ['127.0.0.2'] })
  for (const status of [301, 302, 303, 307, 308]) {
    const refused = network.fetch(new URL(`/127.0.0.2/${status}`, at('127.0.0.1')))
    t.ok(await refused.then(() => false, isClosedAddress), String(status))
    t.equal((await network.fetch(new URL(`/localhost/${status}`, at('127.0.0.1')))).status, 200)
  }
  t.notOk(visited.includes('127.0.0.2'))
})

t.test('Unix sockets of the machine are refused', async t => {
  const network = createNetwork()
  const asked = ask(done => get({ socketPath: '/run/some.sock', agent: network.httpAgent() }, done))
  t.ok(await asked.then(() => false, isClosedAddress))
})

t.test('connections are reused and limited like those of Node agents', async t => {
  const { at, visited } = await listen(t, (_, response) => response.end('x'))
  const agent = createNetwork().httpAgent({ keepAlive: true, maxSockets: 2 })
  const send = () => ask(done => get(at('127.0.0.1'), { agent }, done))
  t.strictSame(await Promise.all(Array.from({ length: 20 }, send)), Array(20).fill(200))
  t.equal(visited.length, 2)
  const refused = Array.from({ length: 5 }, () => ask(done => get('http://169.254.0.1/', { agent }, done)))
  for (const { status } of await Promise.allSettled(refused))
    t.equal(status, 'rejected', 'connections above the limit are refused')
  t.equal(await send(), 200)
  agent.destroy()
})

t.test('connect checks spellings that only the resolver understands', async t => {
  const network = createNetwork()
  for (const host of ['0xa9fea9fe', '2852039166', '169.254.43518', '0251.0376.0251.0376']) {
    const connecting = network.connect({ host, port: 80, ...without })
    t.ok(await connecting.then(() => false, isClosedAddress), host)
  }
})

t.test('connect ends with its signal, and closes the socket', async t => {
  const { at, visited } = await listen(t, () => {})
  const { hostname: host, port } = at('127.0.0.1')
  const aborted = AbortSignal.abort(new Error('no longer needed'))
  const network = createNetwork()
  await t.rejects(network.connect({ host, port: Number(port), signal: aborted }), { message: 'no longer needed' })
  t.strictSame(visited, [])
  // This server never answers the handshake of TLS.
  const silent = createTcpServer()
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(silent, 'connection')
  const controller = new AbortController()
  const connecting = network.connect({
    host,
    port: (silent.address() as AddressInfo).port,
    tls: {},
    signal: controller.signal,
  })
  const [socket] = await accepted
  controller.abort(new Error('the client went away'))
  await t.rejects(connecting, { message: 'the client went away' })
  socket.resume()
  await once(socket, 'close')
  silent.close()
})

t.test('startTls accepts a certificate with the given fingerprint, and no other', async t => {
  const { key, cert } = await certificate()
  const server = createTlsServer({ key, cert }, socket => socket.end('over TLS'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  server.on('tlsClientError', () => {})
  const network = createNetwork()
  const { port } = server.address() as AddressInfo
  const connect = (tls: TlsOptions) => network.connect({ host: '127.0.0.1', port, tls, ...without })
  const { fingerprint256 } = new X509Certificate(cert)
  for (const fingerprint of [fingerprint256, fingerprint256.replaceAll(':', '').toLowerCase()]) {
    t.equal(await text(await connect({ fingerprint })), 'over TLS')
  }
  t.equal(await text(await connect({ ca: cert, servername: 'storage.example' })), 'over TLS')
  await t.rejects(connect({ fingerprint: '0'.repeat(64) }), { code: 'ERR_TLS_CERT_FINGERPRINT' })
  await t.rejects(connect({}), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', fingerprint: fingerprint256 })
  t.equal(await text(await connect({ rejectUnauthorized: false })), 'over TLS')
  await t.rejects(connect({ ca: cert, servername: 'other.example' }), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  const plain = await network.connect({ host: '127.0.0.1', port, ...without })
  const secure = network.startTls(plain, { fingerprint: fingerprint256 })
  await once(secure, 'secureConnect')
  t.equal(await text(secure), 'over TLS')
})

t.test('a request needs an agent of the network', async t => {
  const { visited, at } = await listen(t, (_, response) => response.end())
  const network = createNetwork({ deny: ['127.0.0.0/8'] })
  const foreign = new Agent()
  t.throws(() => network.request(at('127.0.0.1'), { ...getRequest, agent: foreign }), TypeError)
  const options = { ...getRequest, agent: network.httpAgent(), createConnection: () => foreign, socketPath: '/x' }
  await t.rejects(
    ask(done => network.request(at('127.0.0.1'), options).on('response', done).end()),
    {
      code: 'ERR_CLOSED_ADDRESS',
    },
  )
  t.same(visited, [])
})
