import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { useSession } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/issuers.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox, Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { submitting } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { notify } from '../../ui/toasts.tsx'
import { PasswordPolicyMutation, PasswordPolicyQuery, type PasswordPolicy as Policy } from './operations.ts'

/** Who may sign in with a password. Only owners can change it. */
export function PasswordPolicy() {
  const query = useQuery({
    queryKey: queryKeys.passwordPolicy,
    queryFn: ({ signal }) => ask(PasswordPolicyQuery, {}, { signal }),
  })
  return (
    <>
      <h2>{texts.passwords}</h2>
      <LoadState query={query} label={texts.loadingPasswords} />
      {query.data && <PasswordForm policy={query.data} />}
    </>
  )
}

function PasswordForm({ policy }: { policy: Policy }) {
  const client = useQueryClient()
  const { user } = useSession().viewer
  const { owners, unlinked, workspace } = policy
  const { passwordOwners } = workspace
  const [isOnly, setIsOnly] = useState(passwordOwners !== null)
  const [chosen, setChosen] = useState<string[]>(passwordOwners ?? [user.id])
  const shutOut = unlinked.nodes.filter(({ id, deactivatedAt }) => deactivatedAt === null && !chosen.includes(id))
  const save = useMutation({
    mutationFn: async () => {
      // Somebody who was chosen may be no owner any more.
      const present = owners.nodes.map(({ id }) => id).filter(id => chosen.includes(id))
      const input = { singleSignOnOnly: isOnly, passwordOwners: isOnly ? present : null }
      await ask(PasswordPolicyMutation, { input })
      const changed = [queryKeys.passwordPolicy, queryKeys.installation, queryKeys.session]
      await Promise.all(changed.map(queryKey => client.invalidateQueries({ queryKey })))
    },
    onSuccess: () => notify(common.saved),
  })
  if (user.role !== 'OWNER') return <p className="help">{isOnly ? texts.onlyOwners : texts.everybody.help}</p>
  return (
    <Form className="card" onSubmit={submitting(() => save.mutate())}>
      <Choices
        label={texts.whoUsesPasswords}
        value={isOnly ? 'owners' : 'everybody'}
        onChange={value => setIsOnly(value === 'owners')}
        choices={[
          { value: 'everybody', ...texts.everybody },
          { value: 'owners', ...texts.someOwners },
        ]}
      />
      {isOnly && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
        <div role="group" aria-label={texts.waysBackIn}>
          <p className="help">{texts.waysBackIn}</p>
          <div className="event-list">
            {owners.nodes.map(({ id, name, email }) => (
              <Checkbox
                key={id}
                isSelected={chosen.includes(id)}
                onChange={isChosen => setChosen(isChosen ? [...chosen, id] : chosen.filter(each => each !== id))}
              >
                {name ?? email}
              </Checkbox>
            ))}
          </div>
          {shutOut.length > 0 && (
            <p className="notice">
              {texts.shutOut(
                formatList(shutOut.map(({ name, email }) => name ?? email)),
                unlinked.pageInfo.hasNextPage,
              )}
            </p>
          )}
        </div>
      )}
      {save.error && <ErrorBox error={save.error} />}
      <div className="inline-row">
        <Button type="submit" variant="primary" isPending={save.isPending}>
          {common.save}
        </Button>
      </div>
    </Form>
  )
}
