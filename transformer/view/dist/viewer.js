/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
function o({data:e}){document.documentElement.lang=e.language;for(let[n,[t,a]]of Object.entries(e.keep))document.cookie=`${n}=${t}; path=/; max-age=${a}; samesite=lax`}export{o as default};
