import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/issuers.ts'
import { Checkbox, Switch } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { Select } from '../../ui/select.tsx'
import { type ConfiguredIssuer, CreateIssuerMutation, GroupNamesQuery, UpdateIssuerMutation } from './operations.ts'
import { TestButton } from './test-button.tsx'

const promptOptions = (['DEFAULT', 'LOGIN', 'SELECT_ACCOUNT', 'CONSENT'] as const).map(value => ({
  value,
  title: texts.prompts[value],
}))

/** Adds an issuer, or changes one. @param props.issuer null for a new one */
export function IssuerDialog({
  issuer,
  onSaved,
  onClose,
}: {
  issuer: ConfiguredIssuer | null
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const [draft, setDraft] = useState(() => draftOf(issuer))
  const set = (changes: Partial<IssuerDraft>) => setDraft(before => ({ ...before, ...changes }))
  const save = useMutation({
    mutationFn: async () => {
      const { name, address, clientSecret, isEnabled } = draft
      const input = { name, enabled: isEnabled, ...settingsOf(draft) }
      if (issuer) await ask(UpdateIssuerMutation, { input: { id: issuer.id, ...input } })
      else await ask(CreateIssuerMutation, { input: { ...input, issuer: address, clientSecret } })
      await onSaved()
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title={issuer ? common.editTitle(issuer.name) : texts.newIssuer}
      size="large"
      action={issuer ? common.save : texts.addIssuer}
      submit={save}
      onClose={onClose}
    >
      <NameField description={texts.nameHelp} value={draft.name} onChange={name => set({ name })} autoFocus />
      <TextField
        label={texts.address}
        type="url"
        description={issuer ? texts.addressFixed : texts.addressHelp}
        value={draft.address}
        onChange={address => set({ address })}
        isRequired
        isReadOnly={issuer !== null}
        maxLength={500}
        autoComplete="off"
      />
      <TextField
        label={texts.clientId}
        value={draft.clientId}
        onChange={clientId => set({ clientId })}
        isRequired
        maxLength={255}
        autoComplete="off"
      />
      <TextField
        label={texts.clientSecret}
        type="password"
        {...(issuer && { description: texts.secretKept })}
        value={draft.clientSecret}
        onChange={clientSecret => set({ clientSecret })}
        isRequired={issuer === null}
        maxLength={1000}
        autoComplete="off"
      />
      <TextField
        label={common.optional(texts.groupsClaim)}
        description={texts.groupsClaimHelp}
        value={draft.groupsClaim}
        onChange={groupsClaim => set({ groupsClaim })}
        maxLength={200}
        autoComplete="off"
      />
      <Select label={texts.prompt} options={promptOptions} value={draft.prompt} onChange={prompt => set({ prompt })} />
      <TextField
        label={common.optional(texts.maxAge)}
        description={texts.maxAgeHelp}
        value={draft.maxAgeMinutes}
        onChange={maxAgeMinutes => set({ maxAgeMinutes })}
        type="number"
        autoComplete="off"
      />
      <h3>{texts.newAccounts}</h3>
      <TextField
        label={common.optional(texts.domains)}
        description={texts.domainsHelp}
        value={draft.domains}
        onChange={domains => set({ domains })}
        autoComplete="off"
      />
      {domainsIn(draft.domains).length > 0 && (
        <GroupChoices chosen={draft.groupIds} onChange={groupIds => set({ groupIds })} />
      )}
      <div className="test-sign-in">
        <TestButton input={{ ...settingsOf(draft), ...(issuer ? { id: issuer.id } : { issuer: draft.address }) }} />
        <p className="help">{texts.testHelp}</p>
      </div>
      <Switch isSelected={draft.isEnabled} onChange={isEnabled => set({ isEnabled })}>
        {texts.enabled}
      </Switch>
    </FormDialog>
  )
}

interface IssuerDraft {
  name: string
  address: string
  clientId: string
  /** Empty to keep the stored one. */
  clientSecret: string
  groupsClaim: string
  /** Separated by commas or spaces. */
  domains: string
  groupIds: string[]
  prompt: ConfiguredIssuer['prompt']
  /** Empty for no limit. */
  maxAgeMinutes: string
  isEnabled: boolean
}

function draftOf(issuer: ConfiguredIssuer | null): IssuerDraft {
  return {
    name: issuer?.name ?? '',
    address: issuer?.issuer ?? '',
    clientId: issuer?.clientId ?? '',
    clientSecret: '',
    groupsClaim: issuer?.groupsClaim ?? '',
    domains: issuer?.domains.join(', ') ?? '',
    groupIds: issuer?.groups.map(({ id }) => id) ?? [],
    prompt: issuer?.prompt ?? 'DEFAULT',
    maxAgeMinutes: issuer?.maxAgeMinutes ? String(issuer.maxAgeMinutes) : '',
    isEnabled: issuer?.enabled ?? true,
  }
}

/** Returns the settings that are saved and tested. Without a new secret, the stored one is used. */
function settingsOf({ clientId, clientSecret, groupsClaim, domains, groupIds, prompt, maxAgeMinutes }: IssuerDraft) {
  return {
    clientId,
    ...(clientSecret && { clientSecret }),
    groupsClaim,
    domains: domainsIn(domains),
    groupIds,
    prompt,
    maxAgeMinutes: Number(maxAgeMinutes),
  }
}

function domainsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(domain => domain !== '')
}

function GroupChoices({ chosen, onChange }: { chosen: readonly string[]; onChange: (ids: string[]) => void }) {
  const { query, nodes: groups } = usePages(
    [...queryKeys.groups, 'names'],
    async (after, signal) => (await ask(GroupNamesQuery, { after }, { signal })).groups,
  )
  return (
    <>
      <LoadState query={query} label={texts.loadingGroups} />
      {groups?.length === 0 && <p className="help">{texts.noGroups}</p>}
      {groups && groups.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
        <div role="group" aria-label={texts.joinedGroups}>
          <p className="help">{texts.joinedGroups}</p>
          <div className="event-list">
            {groups.map(({ id, name }) => (
              <Checkbox
                key={id}
                isSelected={chosen.includes(id)}
                onChange={isChosen => onChange(isChosen ? [...chosen, id] : chosen.filter(each => each !== id))}
              >
                {name}
              </Checkbox>
            ))}
          </div>
          <ShowMore query={query} />
        </div>
      )}
    </>
  )
}
