/** A server whose names and texts would deceive a careless client. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface ListedName {
  name: string
  kind: 'File' | 'Folder'
}

interface HostileTexts {
  /** The name of the storage. The default is "Evil". */
  storage?: string
  /** The data of other answers by a part of their query, or the data of each event of a subscription. */
  answers?: Readonly<Record<string, object | readonly string[]>>
}

/**
 * Starts a server with one storage, whose ID is `p1` and whose folder `/top` has these entries. Every folder with another path has
 * the file `inner.txt`, and every file has the content "evil".
 */
export async function hostileServer(
  t: Test,
  entries: readonly ListedName[],
  { storage = 'Evil', answers = {} }: HostileTexts = {},
): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/api/download/proxy')) return void response.end('evil')
    const { query, variables } = JSON.parse(await text(request))
    const reply = (data: object) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ data }))
    }
    const [, answer] = Object.entries(answers).find(([part]) => query.includes(part)) ?? []
    if (Array.isArray(answer)) {
      response.setHeader('content-type', 'text/event-stream')
      return void response.end(answer.map(data => `event: next\ndata: ${data}\n\n`).join(''))
    }
    if (answer) return reply(answer)
    if (query.includes('providers')) {
      return reply({
        providers: [{ id: 'p1', name: storage, status: 'CONNECTED', type: { type: 'local' }, encryption: null }],
      })
    }
    if (query.includes('query Entry')) {
      return reply({ entry: { __typename: 'Folder', name: 'top', path: '/top', modifiedAt: null } })
    }
    const listed = variables.path === '/top' ? entries : [{ name: 'inner.txt', kind: 'File' }]
    const nodes = listed.map(({ name, kind }) => {
      return { __typename: kind, name, path: `${variables.path}/x`, modifiedAt: null, size: 4, etag: null }
    })
    reply({ folder: { entries: { nodes, pageInfo: { hasNextPage: false, endCursor: null } } } })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
