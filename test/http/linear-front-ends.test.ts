/**
 * The cost of a request grows linearly with the length of each of its texts, at every route: in its address and its query, and
 * in the headers, forms and bodies of WebDAV, S3, MCP and share links. See `linear-time.test.ts`.
 */
import t from 'tap'
import { parseRoutes } from '../matrix/api.ts'
import { startApp } from '../support/app.ts'
import { message, toolCall } from '../support/mcp.ts'
import { makeShare, sharePath } from '../support/shares.ts'
import { inBody, inHeaders, inUrl, type RequestWith, requireLinear, type Sent } from './linear-time.ts'

/** The routes share most of their code, so these are enough for each. */
const fewUnits = ['a', '/', '%25', '=', ' ', '&', '"', 'eyJ.']
const headerUnits = [...fewUnits, ',', ';a=', '(', '<', '9', 'W/']
const xmlUnits = [
  'a',
  '<',
  '<a>',
  '<a/>',
  '</a>',
  '&',
  '&amp;',
  '&#',
  '<!--',
  '-',
  '<![CDATA[',
  ']]>',
  '<?',
  ' a=',
  '"',
]
/** UTF-16 code units in a body of WebDAV, which has at most 128 KiB, and in a field of a form, which has at most 32 KiB. */
const inXml = 100_000
const inField = 30_000

interface Names {
  token: string
  providerId: string
  /** The slug of the provider. */
  slug: string
  /** The token of a share link. */
  link: string
  accessKeyId: string
}

/** A text in the query and in the last variable part of the address of each route. */
function ofRoutes(routes: readonly string[], { token, slug, link }: Names): Record<string, RequestWith> {
  const headers = { authorization: `Bearer ${token}`, 'tus-resumable': '1.0.0' }
  const variable = /:\w+|\*/
  const requests: Record<string, RequestWith> = {}
  for (const route of routes) {
    if (route.startsWith('HEAD ') && routes.includes(route.replace('HEAD', 'GET'))) continue
    const [method = '', pattern = ''] = route.split(' ')
    const path = pattern.replace(/^\/(dav|s3)\/\*/, `/$1/${slug}/*`)
    const shared = path.replace(':token', link)
    const query = shared.replace(variable, 'other')
    requests[`query of ${route}`] = text => ({ method, headers, path: `${query}?${inUrl(text)}` })
    if (!variable.test(path)) continue
    const address = variable.test(shared) ? shared : path
    requests[`address of ${route}`] = text => ({ method, headers, path: address.replace(variable, () => inUrl(text)) })
  }
  return requests
}

/** A text in each of the headers, after each of the beginnings. */
function inEach(sent: Sent, headers: Readonly<Record<string, readonly string[]>>): Record<string, RequestWith> {
  const entries = Object.entries(headers).flatMap(([name, beginnings]) =>
    beginnings.map((start): [string, RequestWith] => [
      `${sent.method} ${sent.path} with ${name}: ${start}`,
      text => ({ ...sent, headers: { ...sent.headers, [name]: start + text } }),
    ]),
  )
  return Object.fromEntries(entries)
}

function ofHeaders({ token, slug, link, accessKeyId }: Names): Record<string, RequestWith> {
  const headers = { authorization: `Bearer ${token}` }
  const dav = (method: string) => ({ method, path: `/dav/${slug}/file`, headers })
  const s3 = (method: string, key = 'file') => ({ method, path: `/s3/${slug}/${key}`, headers })
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `Credential=${accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`
  const signed = (names: string) => `AWS4-HMAC-SHA256 ${scope}, Signature=${'0'.repeat(64)}, SignedHeaders=${names}`
  const unsigned = { 'x-amz-date': date, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
  const withSignature = { ...unsigned, authorization: signed('host;x-amz-content-sha256;x-amz-date;x-amz-text') }
  return {
    ...inEach(dav('PROPFIND'), { depth: [''], authorization: ['Basic ', 'Basic OnN0dy'] }),
    ...inEach(dav('PUT'), {
      if: ['', '(<', '(<opaquelocktoken:', '(["', `<http://x/dav/${slug}/> (`],
      'x-oc-mtime': ['', '1'],
      'oc-checksum': ['', 'SHA1:'],
    }),
    ...inEach(dav('LOCK'), { timeout: ['', 'Second-'], if: ['(<'] }),
    ...inEach(dav('UNLOCK'), { 'lock-token': ['', '<opaquelocktoken:'] }),
    ...inEach(dav('COPY'), { destination: ['', '/', `/dav/${slug}/`, 'http://'], overwrite: [''] }),
    ...inEach(dav('DELETE'), { 'x-nc-skip-trashbin': [''], 'if-match': ['"'] }),
    ...inEach(s3('GET'), { range: ['bytes='], 'if-match': ['"'], 'x-amz-expected-bucket-owner': [''] }),
    ...inEach(s3('PUT', 'other'), {
      'x-amz-copy-source': ['', '/', `/${slug}/`, `${slug}/file?versionId=`],
      'x-amz-copy-source-if-match': ['"'],
      'x-amz-copy-source-if-modified-since': ['Sun, '],
      'x-amz-metadata-directive': [''],
      'x-amz-tagging': ['', 'a='],
      'x-amz-acl': [''],
      'x-amz-meta-mtime': ['', '1.'],
      'x-amz-checksum-crc32': [''],
      'x-amz-sdk-checksum-algorithm': [''],
      'x-amz-trailer': ['', 'x-amz-checksum-'],
      'x-amz-content-sha256': [''],
      'x-amz-decoded-content-length': ['1'],
      'content-md5': [''],
      'content-encoding': ['aws-chunked,'],
      'if-none-match': ['*'],
    }),
    ...inEach(
      { method: 'GET', path: `/s3/${slug}`, headers: unsigned },
      {
        authorization: [
          'AWS4-HMAC-SHA256 ',
          'AWS4-HMAC-SHA256 Credential=',
          `AWS4-HMAC-SHA256 ${scope}`,
          signed(''),
          signed('host;'),
        ],
      },
    ),
    ...inEach(
      { method: 'GET', path: `/s3/${slug}`, headers: withSignature },
      { 'x-amz-text': [''], 'x-amz-date': [''] },
    ),
    'signed query': text => ({ path: `/s3/${slug}?${inUrl(text)}`, headers: { ...withSignature, 'x-amz-text': '' } }),
    'signed path': text => ({ path: `/s3/${slug}/${inUrl(text)}`, headers: { ...withSignature, 'x-amz-text': '' } }),
    ...inEach(
      { ...message('tools/list'), headers: { ...message('tools/list').headers, ...headers } },
      {
        'mcp-protocol-version': [''],
        'mcp-method': [''],
        'mcp-name': [''],
        accept: ['', 'application/json;'],
        origin: ['', 'http://'],
      },
    ),
    ...inEach(
      { method: 'GET', path: sharePath(link, 'entries') },
      {
        'stowage-share-password': [''],
        cookie: ['', 'stowage_share=', 'stowage_share=eyJ'],
      },
    ),
  }
}

/** A text in each parameter that S3 takes in a query. */
function ofS3Queries({ token, slug, accessKeyId }: Names): Record<string, RequestWith> {
  const headers = { authorization: `Bearer ${token}` }
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const presigned: Record<string, string> = {
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
    'X-Amz-Date': date,
    'X-Amz-Expires': '60',
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Signature': '0'.repeat(64),
  }
  const listed = [
    'prefix',
    'delimiter',
    'start-after',
    'continuation-token',
    'max-keys',
    'encoding-type',
    'fetch-owner',
  ]
  return Object.fromEntries<RequestWith>([
    ...listed.map((name): [string, RequestWith] => [
      `S3 list with ${name}`,
      text => ({ headers, path: `/s3/${slug}?list-type=2&${name}=${inUrl(text)}` }),
    ]),
    ...['uploadId', 'partNumber', 'versionId'].map((name): [string, RequestWith] => [
      `S3 object with ${name}`,
      text => ({ headers, path: `/s3/${slug}/file?${name}=${inUrl(text)}` }),
    ]),
    ...Object.keys(presigned).map((name): [string, RequestWith] => [
      `presigned URL with ${name}`,
      text => ({ path: `/s3/${slug}/file?${new URLSearchParams({ ...presigned, [name]: '' })}${inUrl(text)}` }),
    ]),
  ])
}

/** A text in each part of a form: of a stranger over S3, and of a member. */
function ofForms({ token, providerId, slug, accessKeyId }: Names): Record<string, RequestWith> {
  const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const signing: Record<string, string> = {
    key: 'other',
    policy: 'e30=',
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': `${accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
    'x-amz-date': date,
    'x-amz-signature': '0'.repeat(64),
  }
  const part = (disposition: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${value}\r\n`
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  const form = (path: string, headers: Sent['headers'], parts: readonly string[]): Sent => ({
    method: 'POST',
    path,
    headers: { ...type, ...headers },
    body: `${parts.join('')}--b--\r\n`,
  })
  const fieldsOf = (fields: object) => Object.entries(fields).map(([name, value]) => part(`name="${name}"`, value))
  const file = part('name="file"; filename="f"', 'x')
  const bearer = { authorization: `Bearer ${token}` }
  const asks = { bucket: '', tagging: '', acl: '', success_action_redirect: 'http://', 'x-amz-meta-mtime': '1.' }
  const rows: Record<string, RequestWith> = {}
  for (const name of Object.keys(signing)) {
    rows[`signed form with ${name}`] = text =>
      form(`/s3/${slug}`, {}, [...fieldsOf({ ...signing, [name]: text }), file])
  }
  for (const [name, start] of Object.entries(asks)) {
    const fields = (text: string) => fieldsOf({ key: 'other', [name]: start + text })
    rows[`form with ${name}`] = text => form(`/s3/${slug}`, bearer, [...fields(text), file])
  }
  const places: Record<string, (text: string) => string> = {
    'name of a field': text => part(`name="${text}"`, 'x'),
    'name of a file': text => part(`name="file"; filename="${text}"`, 'x'),
    'encoded name of a file': text => part(`name="file"; filename*=UTF-8''${text}`, 'x'),
    'disposition of a part': text => part(text, 'x'),
    'type of a part': text => part('name="file"; filename="f"', 'x', `Content-Type: ${text}\r\n`),
    'header of a part': text => part('name="file"; filename="f"', 'x', `X-Text: ${text}\r\n`),
    file: text => part('name="file"; filename="f"', text),
    'text before the parts': text => text,
  }
  for (const [place, partWith] of Object.entries(places)) {
    const key = '$' + '{filename}'
    rows[`${place} over S3`] = text => form(`/s3/${slug}`, bearer, [...fieldsOf({ key }), partWith(text)])
    const fields = fieldsOf({ providerId, path: '/', conflict: 'replace' })
    rows[`${place} over REST`] = text => form('/api/upload/proxy', bearer, [...fields, partWith(text)])
  }
  return rows
}

/** A text in each place of the XML that WebDAV and S3 read. */
function ofXml({ token, slug }: Names): Record<string, RequestWith> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/xml' }
  const sent = (method: string, path: string, body: (text: string) => string): RequestWith => {
    return text => ({ method, path, headers, body: body(text) })
  }
  const dav = `/dav/${slug}/file`
  return {
    'XML of PROPFIND': sent('PROPFIND', dav, text => text),
    'names in PROPFIND': sent('PROPFIND', dav, text => `<propfind xmlns="DAV:"><prop>${text}</prop></propfind>`),
    'attributes in PROPFIND': sent('PROPFIND', dav, text => `<propfind xmlns="DAV:" ${text}><allprop/></propfind>`),
    'a property in PROPPATCH': sent(
      'PROPPATCH',
      dav,
      text => `<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:x">${text}</a></prop></set></propertyupdate>`,
    ),
    'the owner in LOCK': sent(
      'LOCK',
      dav,
      text =>
        `<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype><owner>${text}</owner></lockinfo>`,
    ),
    'XML of DeleteObjects': sent('POST', `/s3/${slug}?delete`, text => text),
    'a key in DeleteObjects': sent(
      'POST',
      `/s3/${slug}?delete`,
      text => `<Delete><Object><Key>${text}</Key></Object></Delete>`,
    ),
    'a tag in CompleteMultipartUpload': sent(
      'POST',
      `/s3/${slug}/file?uploadId=x`,
      text =>
        `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${text}</ETag></Part></CompleteMultipartUpload>`,
    ),
  }
}

/** A text in the messages of MCP and in the lists of paths. */
function ofJson({ token, providerId, link }: Names): Record<string, RequestWith> {
  const authorization = `Bearer ${token}`
  const asMember = (sent: Sent): Sent => ({ ...sent, headers: { ...sent.headers, authorization } })
  const tool = (name: string, args: (text: string) => object): [string, RequestWith][] =>
    [false, true].map(isEarlier => [
      `MCP ${name} with ${Object.keys(args('')).at(-1)}, ${isEarlier ? 'earlier' : 'present'}`,
      text => asMember(toolCall(name, { providerId, ...args(text) }, { isEarlier })),
    ])
  const archive = { method: 'POST', path: '/api/download/archive' }
  const paths = (text: string) => JSON.stringify({ providerId, paths: [text] })
  return Object.fromEntries<RequestWith>([
    ['MCP body', text => asMember({ ...message('tools/list'), body: text })],
    ['MCP cursor', text => asMember(message('tools/list', { cursor: text }))],
    ...tool('list_folder', path => ({ path })),
    ...tool('search', name => ({ path: '/', name })),
    ...tool('write_file', content => ({ path: '/by-tool', conflict: 'REPLACE', content })),
    ...tool('delete', confirm => ({ path: '/nothing', confirm })),
    ['paths of an archive', text => asMember({ ...archive, body: paths(text) })],
    [
      'ticket of an archive',
      text => ({
        ...archive,
        body: `ticket=${text}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    ],
    ['paths of a shared archive', text => ({ method: 'POST', path: sharePath(link, 'archive'), body: paths(text) })],
  ])
}

// The test sends thousands of requests.
t.setTimeout(600_000)

t.test('the texts of every front end take time in proportion to their length', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'memory', {})
  await app.upload(token, providerId, '/file', 'content')
  const { slug } = (await app.ask('query ($id: ID!) { provider(id: $id) { slug } }', { id: providerId }, token))
    .provider
  const { link } = await makeShare(app, token, { kind: 'DROP', providerId, path: '/' })
  const create = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { s3 { accessKeyId } } }'
  const { s3 } = (await app.ask(create, { input: { name: 's3', scopes: ['write'] } }, token)).createApiKey
  const names: Names = { token, providerId, slug, link, accessKeyId: s3.accessKeyId }
  const routes = parseRoutes(app.app.server.printRoutes())
  await requireLinear(t, app, ofRoutes(routes, names), { length: inHeaders, units: fewUnits })
  await requireLinear(t, app, ofHeaders(names), { length: inHeaders, units: headerUnits })
  await requireLinear(t, app, ofS3Queries(names), { length: inHeaders, units: fewUnits })
  await requireLinear(t, app, ofForms(names), { length: inField, units: fewUnits })
  await requireLinear(t, app, ofXml(names), { length: inXml, units: xmlUnits })
  await requireLinear(t, app, ofJson(names), { length: inBody, units: fewUnits })
  const faults = app
    .logged()
    .split('\n')
    .filter(line => /"level":[56]0/.test(line))
  t.same(faults, [], 'no request is logged as a fault')
})
