import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts as directories } from '../../texts/directories.tsx'
import { texts } from '../../texts/groups.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogEnd } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { Select } from '../../ui/select.tsx'
import {
  AddGroupMemberMutation,
  type Group,
  PeopleQuery,
  type Person,
  RemoveGroupMemberMutation,
} from './operations.ts'

function usePeople(groupId: string | null) {
  return usePages(
    [...queryKeys.members, 'people', groupId],
    async (after, signal) => (await ask(PeopleQuery, { groupId, after }, { signal })).users,
  )
}

/** Lists the members of a group, adds others and removes some. Each change is made at once. */
export function GroupMembersDialog({
  group,
  onChanged,
  onClose,
}: {
  group: Group
  onChanged: () => Promise<void>
  onClose: () => void
}) {
  const client = useQueryClient()
  const { query, nodes: members } = usePeople(group.id)
  const change = useMutation({
    mutationFn: async ({ userId, isNew }: { userId: string; isNew: boolean }) => {
      const membership = { groupId: group.id, userId }
      if (isNew) await ask(AddGroupMemberMutation, membership)
      else await ask(RemoveGroupMemberMutation, membership)
    },
    // The session may be one whose rights have changed.
    onSettled: () => Promise.all([onChanged(), client.invalidateQueries({ queryKey: queryKeys.session })]),
  })
  return (
    <Dialog title={texts.membersOf(group.name)} onClose={onClose} size="large">
      <LoadState query={query} label={texts.loadingMembers} />
      {members?.length === 0 && <p className="help">{texts.noMembers}</p>}
      {members && members.length > 0 && (
        <ul className="group-members">
          {members.map(person => (
            <li key={person.id}>
              <span>{nameOf(person)}</span>
              {person.issuedGroupIds.includes(group.id) ? (
                <span className="help">{directories.managed}</span>
              ) : (
                <Button
                  onPress={() => change.mutate({ userId: person.id, isNew: false })}
                  isDisabled={change.isPending}
                  aria-label={texts.removeFrom(nameOf(person), group.name)}
                >
                  {common.remove}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      <ShowMore query={query} />
      {members && (
        <AddMember
          members={members}
          isPending={change.isPending}
          onAdd={userId => change.mutate({ userId, isNew: true })}
        />
      )}
      {change.error && <ErrorBox error={change.error} />}
      <DialogEnd label={common.done} onClose={onClose} />
    </Dialog>
  )
}

function AddMember({
  members,
  isPending,
  onAdd,
}: {
  members: readonly Person[]
  isPending: boolean
  onAdd: (userId: string) => void
}) {
  const { query, nodes: people } = usePeople(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const present = new Set(members.map(({ id }) => id))
  const others = people?.filter(({ id }) => !present.has(id)) ?? []
  const isUsable = others.some(({ id }) => id === chosen)
  return (
    <>
      <h3>{texts.addMember}</h3>
      <LoadState query={query} label={texts.loadingMembers} />
      {people && others.length === 0 && <p className="help">{texts.everybodyIn}</p>}
      {others.length > 0 && (
        <div className="group-add">
          <Select
            label={texts.chooseMember}
            options={others.map(person => ({ value: person.id, title: nameOf(person) }))}
            value={isUsable ? chosen : null}
            onChange={setChosen}
          />
          <Button
            onPress={() => {
              if (chosen !== null) onAdd(chosen)
              setChosen(null)
            }}
            isDisabled={!isUsable || isPending}
          >
            {texts.add}
          </Button>
        </div>
      )}
      <ShowMore query={query} />
    </>
  )
}

function nameOf({ name, email, isServiceAccount }: Person): string {
  if (isServiceAccount) return name ?? email
  return name === null ? email : `${name} (${email})`
}
