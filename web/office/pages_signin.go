package office

import (
	"kartei/api/op"
	"kartei/people/account"
)

// signinPages are the pages of this room.
var signinPages = []Page{
	open("GET", "/signin", nil, showSignIn),
	open("POST", "/signin", op.List{account.SignInByPassword, account.SignOut}, signIn),
	open("POST", "/signin/second", op.List{account.SignInBySecond, account.SignOut}, second),
	open("POST", "/signin/choose", op.List{account.Choose, account.SignOut}, choose),
	open("POST", "/signin/passkey", op.List{account.SignInByPasskey, account.SignOut}, signInByPasskey),
	open("POST", "/signin/passkey/options", op.List{account.AskPasskey}, showPasskeyOptions),
	open("POST", "/signin/sso", op.List{account.BeginSSO}, leaveToSignIn),
	open("GET", "/signin/sso/callback", op.List{account.SignInBySSO, account.AcceptBySSO, account.LinkSSO, account.RefreshBySSO, account.SignOut}, comeBack),
	private("GET", besidePath, op.List{account.GetSession}, showBeside),
	open("POST", besidePath, nil, goOn),
	open("POST", "/invitation/sso", op.List{account.BeginSSOInvited}, leaveToAccept),
	private("POST", "/confirm/sso", op.List{account.BeginSSOFresh}, leaveToConfirm, enrols),
	private("POST", "/settings/security/sso", op.List{account.BeginSSOLink}, leaveToLink, enrols),
	private("POST", "/settings/security/sso/{id}/remove", op.List{account.UnlinkSSO}, unlink, enrols),
	open("GET", "/signin/forgot", nil, showForgot),
	open("POST", "/signin/forgot", op.List{account.Forgot}, forgot),
	open("GET", "/reset", nil, showLink(&resetLink)),
	open("POST", "/reset", op.List{account.Reset}, followLink(&resetLink)),
	open("GET", "/factors", nil, showLink(&liftLink)),
	open("POST", "/factors", op.List{account.Reset}, followLink(&liftLink)),
	open("GET", "/address", nil, showLink(&addressLink)),
	open("POST", "/address", op.List{account.ConfirmEmail}, followLink(&addressLink)),
	open("GET", "/invitation", nil, showInvitation),
	open("POST", "/invitation", op.List{account.Accept, account.SignOut}, acceptInvitation),
	private("POST", signOutPath, op.List{account.SignOut}, signOut, enrols),

	private("GET", "/signin/choose", op.List{account.GetSession}, showChoose, enrols),
	private("POST", switchPath, op.List{account.Switch}, switchTo, enrols),
	private("GET", "/confirm", op.List{account.GetFactors}, showConfirm, enrols),
	private("POST", "/confirm", op.List{account.Refresh}, confirm, enrols),
	private("POST", "/confirm/passkey", op.List{account.AskPasskey}, showPasskeyOptions, enrols),

	private("GET", "/settings/profile", op.List{account.GetProfile}, showProfile),
	private("POST", "/settings/profile", op.List{account.SetProfile}, saveProfile),
	private("GET", "/settings/security", op.List{account.GetFactors, account.ListSessions, account.ListSignIns}, showSecurity, enrols),
	private("GET", "/settings/security/password", op.List{account.GetFactors}, showPassword, enrols),
	private("POST", "/settings/security/password", op.List{account.SetPassword}, savePassword, enrols),
	private("POST", "/settings/security/totp", op.List{account.BeginTOTP}, beginTOTP, enrols),
	private("POST", "/settings/security/totp/confirm", op.List{account.ConfirmTOTP, account.BeginTOTP}, confirmTOTP, enrols),
	private("POST", "/settings/security/totp/remove", op.List{account.RemoveTOTP}, removeTOTP, enrols),
	private("POST", "/settings/security/codes", op.List{account.RenewRecoveryCodes}, renewCodes, enrols),
	private("POST", "/settings/security/passkeys/options", op.List{account.BeginPasskey}, showNewPasskey, enrols),
	private("POST", "/settings/security/passkeys", op.List{account.AddPasskey}, addPasskey, enrols),
	private("POST", "/settings/security/passkeys/{id}/remove", op.List{account.RemovePasskey}, removePasskey, enrols),
	private("POST", "/settings/security/sessions/{id}/end", op.List{account.EndSessions}, endSession, enrols),
	private("POST", "/settings/security/sessions/end", op.List{account.EndSessions}, endSessions, enrols),
	private("GET", "/settings/security/address", op.List{account.GetFactors}, showAddress, enrols),
	private("POST", "/settings/security/address", op.List{account.ChangeEmail}, changeAddress, enrols),
}
