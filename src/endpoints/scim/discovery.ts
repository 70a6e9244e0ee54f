/** The capabilities of this server (RFC 7643, sections 5 to 7). Directories read them when somebody connects them. */
import { maxScimPage } from '../../services/people/scim/users.ts'
import { groupSchema } from './group.ts'
import { userSchema } from './user.ts'

export function serviceProviderConfig(location: string) {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: maxScimPage },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Token',
        description: 'A token that an administrator creates in Settings → Directories.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location },
  }
}

/** @param base the address of SCIM */
export function resourceTypes(base: string) {
  const type = (id: string, endpoint: string, schema: string) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id,
    name: id,
    endpoint,
    schema,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  })
  return [type('User', '/Users', userSchema), type('Group', '/Groups', groupSchema)]
}

interface Options {
  required?: boolean
  multiValued?: boolean
  mutability?: 'readOnly' | 'readWrite'
  uniqueness?: 'none' | 'server'
  subAttributes?: readonly object[]
}

function attribute(name: string, type: 'string' | 'boolean' | 'complex', options: Options = {}) {
  return {
    name,
    type,
    multiValued: options.multiValued ?? false,
    required: options.required ?? false,
    caseExact: false,
    mutability: options.mutability ?? 'readWrite',
    returned: 'default',
    uniqueness: options.uniqueness ?? 'none',
    ...(options.subAttributes && { subAttributes: options.subAttributes }),
  }
}

const reference = [attribute('value', 'string'), attribute('display', 'string', { mutability: 'readOnly' })]

/** @param base the address of SCIM */
export function schemas(base: string) {
  const schema = (id: string, name: string, attributes: readonly object[]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  })
  return [
    schema(userSchema, 'User', [
      attribute('userName', 'string', { required: true, uniqueness: 'server' }),
      attribute('externalId', 'string', { uniqueness: 'server' }),
      attribute('displayName', 'string'),
      attribute('name', 'complex', {
        subAttributes: ['givenName', 'familyName', 'formatted'].map(part => attribute(part, 'string')),
      }),
      attribute('emails', 'complex', {
        required: true,
        multiValued: true,
        subAttributes: [attribute('value', 'string'), attribute('type', 'string'), attribute('primary', 'boolean')],
      }),
      attribute('active', 'boolean'),
      attribute('groups', 'complex', { multiValued: true, mutability: 'readOnly', subAttributes: reference }),
    ]),
    schema(groupSchema, 'Group', [
      attribute('displayName', 'string', { required: true, uniqueness: 'server' }),
      attribute('externalId', 'string'),
      attribute('members', 'complex', { multiValued: true, subAttributes: reference }),
    ]),
  ]
}
