import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ask } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { isWithin, type StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { formatList } from '../../texts/format.ts'
import { Avatar } from '../../ui/avatar.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'

const texts = fileTexts.access

const AccessQuery = graphql(`
  query EntryAccess {
    groups(first: 100) {
      nodes { id name role memberCount providerAccess { all restrictions { basePath provider { id } } } }
      pageInfo { hasNextPage }
    }
    users(first: 100) {
      nodes {
        id email name effectiveRole role deactivatedAt isServiceAccount
        providerAccess { all restrictions { basePath provider { id } } }
      }
      pageInfo { hasNextPage }
    }
  }
`)

interface ProviderAccess {
  all: boolean
  restrictions: readonly { basePath: string; provider: { id: string } | null }[]
}

/** Returns whether access includes a location, or the folders below it that it includes; null for none of it. */
function reachOf({ all, restrictions }: ProviderAccess, { providerId, path }: StorageLocation): true | string[] | null {
  if (all) return true
  const own = restrictions.filter(({ provider }) => provider?.id === providerId).map(({ basePath }) => basePath)
  if (own.some(basePath => isWithin(path, basePath))) return true
  const below = own.filter(basePath => isWithin(basePath, path))
  return below.length === 0 ? null : below
}

/**
 * Who may open an entry, for administrators of the whole workspace: groups, and the members whose own access includes it. Those who may
 * only open something below it are listed with that.
 */
export function PeopleWithAccess({ location, onLeave }: { location: StorageLocation; onLeave: () => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['entry-access'],
    queryFn: ({ signal }) => ask(AccessQuery, {}, { signal }),
    staleTime: 10_000,
  })
  const groups = data?.groups.nodes.filter(({ role }) => role !== 'NONE') ?? []
  // A member without a role of their own adds nothing to what their groups give.
  const members = data?.users.nodes.filter(({ role, deactivatedAt }) => role !== 'NONE' && deactivatedAt === null) ?? []
  const rows = [
    ...groups.map(({ id, name, role, memberCount, providerAccess }) => ({
      id,
      name,
      note: texts.group(memberCount ?? 0),
      role,
      reach: reachOf(providerAccess, location),
    })),
    ...members.map(({ id, name, email, effectiveRole, isServiceAccount, providerAccess }) => ({
      id,
      name: name ?? email,
      note: isServiceAccount ? texts.serviceAccount : name === null ? '' : email,
      role: effectiveRole,
      reach: reachOf(providerAccess, location),
    })),
  ].filter(({ reach }) => reach !== null)
  const isCut = data && (data.groups.pageInfo.hasNextPage || data.users.pageInfo.hasNextPage)
  return (
    <section aria-label={texts.people} className="details-access">
      <h3>{texts.people}</h3>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <Loading label={common.loading} />}
      {data && (
        <ul>
          {rows.map(({ id, name, note, role, reach }) => (
            <li key={id}>
              <Avatar name={name} />
              <span className="access-name">
                <bdi>{name}</bdi>
                {note !== '' && <span className="help">{note}</span>}
                {Array.isArray(reach) && <span className="help">{texts.onlyIn(formatList(reach.slice(0, 3)))}</span>}
              </span>
              <span className="access-role">{texts.roles[role]}</span>
            </li>
          ))}
        </ul>
      )}
      {data && rows.length === 0 && <p className="help">{texts.nobody}</p>}
      <p className="help">{isCut ? texts.firstOnly : texts.help}</p>
      <Link to="/settings/members" onClick={onLeave}>
        {texts.allMembers}
      </Link>
    </section>
  )
}
