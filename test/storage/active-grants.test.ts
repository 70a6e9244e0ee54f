import t from 'tap'
import { allProviders } from '../../src/auth/access.ts'
import { root } from '../../src/auth/path.ts'
import { type Grant, grant } from '../../src/auth/policy.ts'
import { memberViewer } from '../../src/auth/viewer.ts'
import { ActiveGrants } from '../../src/storage/active-grants.ts'

const member = {
  userId: 'user',
  workspaceId: 'workspace',
  email: 'owner@example.org',
  name: null,
  role: 'OWNER',
  access: allProviders,
  own: { role: 'OWNER', access: allProviders },
  groups: [],
  language: null,
  getsMentions: true,
  isService: false,
  deactivatedAt: null,
  createdAt: new Date(),
} as const
const viewer = memberViewer(member, member.userId, { address: '127.0.0.1', requestId: 'request' })
const granted: Grant = grant(viewer, { scope: 'read', providerId: 'provider', path: root })

t.test('work requires a check of its grants', async t => {
  const unchecked = () => {
    // @ts-expect-error The constructor requires the check.
    return new ActiveGrants()
  }
  await t.rejects(async () => unchecked().confirm([granted]), TypeError)
  let began = false
  const work = async () => {
    began = true
  }
  await t.rejects(async () => unchecked().run([granted], AbortSignal.timeout(1000), work), TypeError)
  t.equal(began, false)
})

t.test('work does not start if the check rejects', async t => {
  const activeGrants = new ActiveGrants({
    confirm: async () => {
      throw new Error('revoked')
    },
    onFirst: () => t.fail('the work has not started'),
  })
  await t.rejects(
    activeGrants.run([granted], AbortSignal.timeout(1000), async () => t.fail('the work has started')),
    /revoked/,
  )
  t.equal(activeGrants.size, 0)
})
