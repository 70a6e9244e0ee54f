/** Groups: the page that lists them, and the dialogs that change them. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/groups.tsx'
import { texts as settings } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { AccessSummary } from '../access/access.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { GroupMembersDialog } from './members-dialog.tsx'
import { DeleteGroupMutation, type Group, GroupsQuery } from './operations.ts'

type GroupPageDialog = { kind: 'new' } | { kind: 'members' | 'edit' | 'delete'; group: Group }

export function GroupsPage() {
  return (
    <AdminOnly title={texts.groups} needsUnrestricted>
      <Groups />
    </AdminOnly>
  )
}

function Groups() {
  const client = useQueryClient()
  const { query, nodes: groups } = usePages(
    queryKeys.groups,
    async (after, signal) => (await ask(GroupsQuery, { after }, { signal })).groups,
  )
  const [open, setOpen] = useState<GroupPageDialog | null>(null)
  const close = () => setOpen(null)
  // The members show their groups.
  const reload = async () => {
    await Promise.all([queryKeys.groups, queryKeys.members].map(queryKey => client.invalidateQueries({ queryKey })))
  }
  return (
    <>
      <PageHead title={texts.groups}>
        <Button variant="primary" onPress={() => setOpen({ kind: 'new' })}>
          {texts.newGroup}
        </Button>
      </PageHead>
      <p className="help">{texts.groupsHelp}</p>
      <LoadState query={query} label={texts.loadingGroups} />
      {groups?.length === 0 && <p className="empty">{texts.noGroups}</p>}
      {groups && groups.length > 0 && <GroupTable groups={groups} onOpen={setOpen} />}
      <ShowMore query={query} />
      {open?.kind === 'new' && <GroupDialog group={null} onSaved={reload} onClose={close} />}
      {open?.kind === 'edit' && <GroupDialog group={open.group} onSaved={reload} onClose={close} />}
      {open?.kind === 'members' && <GroupMembersDialog group={open.group} onChanged={reload} onClose={close} />}
      {open?.kind === 'delete' && (
        <Confirm
          title={common.deleteTitle(open.group.name)}
          action={common.delete}
          onConfirm={async () => {
            await ask(DeleteGroupMutation, { id: open.group.id })
            await reload()
          }}
          onClose={close}
        >
          <p>{texts.deleteGroupHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function GroupTable({ groups, onOpen }: { groups: readonly Group[]; onOpen: (dialog: GroupPageDialog) => void }) {
  return (
    <RowTable label={texts.groups} columns={[texts.group, settings.role, common.access, texts.members]}>
      {groups.map(group => (
        <Row key={group.id} group={group} onOpen={onOpen} />
      ))}
    </RowTable>
  )
}

function Row({ group, onOpen }: { group: Group; onOpen: (dialog: GroupPageDialog) => void }) {
  const { id, name, role, providerAccess, memberCount } = group
  const nameId = `group-${id}`
  return (
    <tr>
      <td id={nameId} className="person-cell">
        <div className="main-cell">{name}</div>
      </td>
      <td>
        <span className={`badge ${role === 'NONE' ? 'warn' : ''}`}>{settings.roles[role]}</span>
      </td>
      <td data-label={common.access}>{role === 'NONE' ? common.none : <AccessSummary access={providerAccess} />}</td>
      <td data-label={texts.members}>{memberCount}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button onPress={() => onOpen({ kind: 'members', group })} aria-describedby={nameId}>
            {texts.members}
          </Button>
          <Button onPress={() => onOpen({ kind: 'edit', group })} aria-describedby={nameId}>
            {common.edit}
          </Button>
          <Button variant="danger" onPress={() => onOpen({ kind: 'delete', group })} aria-describedby={nameId}>
            {common.delete}
          </Button>
        </div>
      </td>
    </tr>
  )
}
