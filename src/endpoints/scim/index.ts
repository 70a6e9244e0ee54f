/**
 * SCIM 2.0 (RFC 7644) at `/scim/v2`: a directory, such as Microsoft Entra or Okta, manages people and groups. The token of SCIM opens
 * these routes and nothing else, and no other credential opens them.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { authenticateUnknownBelow, originOf } from '../../http/authentication.ts'
import { type ErrorResponse, formatErrorsBelow } from '../../http/errors.ts'
import { parseJsonBody } from '../../http/json.ts'
import { splitUrl } from '../../http/url.ts'
import type { Services } from '../../services/index.ts'
import type { ScimClient } from '../../services/people/scim/tokens.ts'
import { invalidValue, operationsOf } from './body.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts'
import { parseFilter } from './filter.ts'
import { groupFields, groupResource, patchGroup, readGroup } from './group.ts'
import { patchUser, readUser, userFields, userResource } from './user.ts'

const scimPath = '/scim/v2'
const contentType = 'application/scim+json; charset=utf-8'
/** Bytes of a body: a group with thousands of members. */
const maxBody = 1024 * 1024
/** Users and groups in a page, without a count. */
const defaultCount = 100

type Request = FastifyRequest<{ Body: Buffer | undefined; Params: { id?: string } }>

export async function registerScim(
  app: FastifyInstance,
  services: Services,
  { publicUrl }: { publicUrl: string | null },
): Promise<void> {
  const { scim } = services
  const clients = new WeakMap<FastifyRequest, ScimClient>()
  const bearer = /^Bearer +(\S{1,200}) *$/i
  const authenticate = async (request: FastifyRequest) => {
    const token = bearer.exec(request.headers.authorization ?? '')?.[1] ?? null
    clients.set(request, await scim.tokens.authenticate(token, originOf(request)))
    // The token stands for no member.
    return null
  }
  formatErrorsBelow(app, scimPath, formatError)
  authenticateUnknownBelow(app, scimPath, authenticate)

  const clientOf = (request: FastifyRequest): ScimClient => {
    const client = clients.get(request)
    if (!client) throw new Error('A request of SCIM was not authenticated.')
    return client
  }
  const baseOf = ({ protocol, host }: FastifyRequest) => `${publicUrl ?? `${protocol}://${host}`}${scimPath}`

  await app.register(async scope => {
    const authorize = (request: FastifyRequest) => {
      const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
      if (type === 'application/scim+json' || type === 'application/json') return
      throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'The body must have the Content-Type "application/scim+json".')
    }
    const body = { kind: 'parsed', maxBytes: maxBody, authorize } as const
    const common = { authenticate, ignoresCookie: true } as const

    function route(
      method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      serve: (request: Request, reply: FastifyReply) => Promise<object | null>,
    ): void {
      const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH'
      scope.route<{ Body: Buffer | undefined; Params: { id?: string } }>({
        method,
        url: `${scimPath}${path}`,
        exposeHeadRoute: false,
        config: hasBody ? { ...common, body } : common,
        async handler(request, reply) {
          const found = await serve(request, reply)
          if (found === null) return reply.status(204).send()
          return reply.header('Content-Type', contentType).send(JSON.stringify(found))
        },
      })
    }

    route('GET', '/ServiceProviderConfig', async request =>
      serviceProviderConfig(`${baseOf(request)}/ServiceProviderConfig`),
    )
    for (const [path, all] of [
      ['/ResourceTypes', resourceTypes],
      ['/Schemas', schemas],
    ] as const) {
      route('GET', path, async request => listOf(all(baseOf(request)), { total: 2, start: 1 }))
      route('GET', `${path}/:id`, async request => {
        const found = all(baseOf(request)).find(({ id }) => id === request.params.id)
        if (!found) throw new AppError('NOT_FOUND', 'There is no such resource.')
        return found
      })
    }

    const user = (request: FastifyRequest, found: Parameters<typeof userResource>[0]) =>
      userResource(found, `${baseOf(request)}/Users/${found.member.userId}`)
    const { users, groups } = scim
    route('GET', '/Users', async request => {
      const { filter, start, count } = queryOf(request)
      const terms = filter === null ? [] : parseFilter(filter, userFields)
      const { total, items } = await users.list(clientOf(request), terms, { offset: start - 1, limit: count })
      return listOf(
        items.map(found => user(request, found)),
        { total, start },
      )
    })
    route('POST', '/Users', async (request, reply) => {
      const created = user(request, await users.create(clientOf(request), readUser(await bodyOf(request), true)))
      reply.status(201).header('Location', created.meta.location)
      return created
    })
    route('GET', '/Users/:id', async request => user(request, await users.get(clientOf(request), idOf(request))))
    route('PUT', '/Users/:id', async request => {
      const given = await bodyOf(request)
      const changed = await users.update(clientOf(request), idOf(request), ({ isActive }) => readUser(given, isActive))
      return user(request, changed)
    })
    route('PATCH', '/Users/:id', async request => {
      const operations = operationsOf(await bodyOf(request))
      const changed = await users.update(clientOf(request), idOf(request), now => patchUser(now, operations))
      return user(request, changed)
    })
    route('DELETE', '/Users/:id', async request => {
      await users.remove(clientOf(request), idOf(request))
      return null
    })

    const group = async (request: FastifyRequest, found: Parameters<typeof groupResource>[0]) =>
      groupResource(found, await groups.members(clientOf(request), [found]), `${baseOf(request)}/Groups/${found.id}`)
    route('GET', '/Groups', async request => {
      const { filter, start, count, withMembers } = queryOf(request)
      const terms = filter === null ? [] : parseFilter(filter, groupFields)
      const page = { offset: start - 1, limit: count, withMembers }
      const { total, items } = await groups.list(clientOf(request), terms, page)
      const members = withMembers ? await groups.members(clientOf(request), items) : []
      const byGroup = Map.groupBy(members, ({ groupId }) => groupId)
      const resources = items.map(found =>
        groupResource(
          found,
          withMembers ? (byGroup.get(found.id) ?? []) : null,
          `${baseOf(request)}/Groups/${found.id}`,
        ),
      )
      return listOf(resources, { total, start })
    })
    route('POST', '/Groups', async (request, reply) => {
      const created = await groups.create(clientOf(request), readGroup(await bodyOf(request)))
      const resource = await group(request, created)
      reply.status(201).header('Location', resource.meta.location)
      return resource
    })
    route('GET', '/Groups/:id', async request => {
      const found = await groups.get(clientOf(request), idOf(request))
      const { withMembers } = queryOf(request)
      return withMembers ? group(request, found) : groupResource(found, null, `${baseOf(request)}/Groups/${found.id}`)
    })
    route('PUT', '/Groups/:id', async request => {
      const wish = readGroup(await bodyOf(request))
      return group(request, await groups.update(clientOf(request), idOf(request), wish))
    })
    route('PATCH', '/Groups/:id', async request => {
      const wish = patchGroup(operationsOf(await bodyOf(request)))
      await groups.update(clientOf(request), idOf(request), wish)
      // A response with up to ten thousand members would say nothing new.
      return null
    })
    route('DELETE', '/Groups/:id', async request => {
      await groups.remove(clientOf(request), idOf(request))
      return null
    })
  })
}

function idOf({ params }: Request): string {
  return params.id ?? ''
}

/** @throws INVALID_INPUT */
async function bodyOf(request: Request): Promise<unknown> {
  const body = await parseJsonBody(request.body ?? Buffer.alloc(0))
  if (body === undefined) {
    throw new AppError('INVALID_INPUT', 'The body is no JSON.', { facts: { scimType: 'invalidSyntax' } })
  }
  return body
}

/** RFC 7644, section 3.4.2. A number below the least one counts as the least one. @throws INVALID_INPUT */
function queryOf(request: FastifyRequest) {
  const query = new URLSearchParams(splitUrl(request.raw.url ?? '')[1])
  const number = (name: string, fallback: number, least: number) => {
    const text = query.get(name)
    if (text === null || text === '') return fallback
    if (!/^-?\d{1,9}$/.test(text)) throw invalidValue(`"${name}" is a whole number.`)
    return Math.max(Number(text), least)
  }
  const names = (name: string) => (query.get(name) ?? '').toLowerCase().split(',', 100)
  const attributes = names('attributes').filter(name => name !== '')
  return {
    filter: query.get('filter') || null,
    start: number('startIndex', 1, 1),
    count: number('count', defaultCount, 0),
    withMembers:
      !names('excludedAttributes').includes('members') &&
      (attributes.length === 0 || attributes.some(name => name.startsWith('members'))),
  }
}

function listOf(resources: readonly object[], { total, start }: { total: number; start: number }) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: start,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}

/** RFC 7644, section 3.12. */
function formatError({ status, reason, message, facts, retryAfterMs }: AppError): ErrorResponse {
  const scimType =
    reason === 'ALREADY_EXISTS' ? 'uniqueness' : (facts?.scimType ?? (status === 400 ? 'invalidValue' : null))
  return {
    status,
    headers: {
      'Content-Type': contentType,
      ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
      ...(retryAfterMs !== undefined && { 'Retry-After': String(Math.ceil(retryAfterMs / 1000)) }),
    },
    body: JSON.stringify({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType !== null && { scimType }),
      detail: message,
    }),
  }
}
